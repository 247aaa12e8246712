// Tests what the programs say to their command lines and settings, before they do anything else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lib/crypto.h"
#include "tests/support/rigs/run_program.h"

namespace hostler {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using namespace testing_support;

class CommandLine : public testing::TestWithParam<std::string> {
 protected:
  CommandLine() : file_(testing::TempDir() + "hostler-" + to_hex(random_bytes(8)) + ".toml") {}
  ~CommandLine() override { std::filesystem::remove(file_); }
  static ProgramRun run(std::vector<std::string> arguments,
                        const std::vector<std::string>& environment = {}) {
    arguments.insert(arguments.begin(), build_folder() + "/" + GetParam());
    return run_program(arguments, environment);
  }
  void write(std::string_view text) { std::ofstream(file_) << text; }
  std::string file_;
};

TEST_P(CommandLine, PrintsItsSettingsAsAFileThatItTakes) {
  ProgramRun printed = run({"--print-config"}, {"HOSTLER_RUN_SLOTS=7"});
  ASSERT_EQ(printed.status, 0) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("\nslots = 7"));
  write(printed.out);
  EXPECT_EQ(run({"--config", file_, "--print-config"}).status, 0);
  EXPECT_EQ(run({"--config", file_, "--check-config"}).status, 0);
}

TEST_P(CommandLine, RefusesBadSettingsWhateverIsAsked) {
  write("[api]\nwokers = 3\n");
  for (std::vector<std::string> asked :
       {std::vector<std::string>{}, {"--check-config"}, {"--print-config"}}) {
    asked.insert(asked.end(), {"--config", file_});
    ProgramRun refused = run(asked, {"HOSTLER_LOG_LEVEL=loud"});
    EXPECT_EQ(refused.status, 78);
    EXPECT_THAT(refused.err,
                HasSubstr(":2:1: unknown setting api.wokers; did you mean api.workers?"));
    EXPECT_THAT(refused.err, HasSubstr("log.level"));
  }
}

TEST_P(CommandLine, RefusesAnUnknownOptionOrArgument) {
  EXPECT_EQ(run({"--no-such"}).status, 64);
  EXPECT_EQ(run({"serve"}).status, 64);
  EXPECT_THAT(run({"--no-such"}).err, Not(IsEmpty()));
}

TEST_P(CommandLine, SaysItsVersionAndItsOptions) {
  EXPECT_THAT(run({"--version"}).out, HasSubstr(GetParam() + " "));
  EXPECT_THAT(run({"--help"}).out, HasSubstr("--check-config"));
  // Also when the settings are bad: that is when somebody looks for help.
  EXPECT_EQ(run({"--help"}, {"HOSTLER_LOG_LEVEL=loud"}).status, 0);
}

INSTANTIATE_TEST_SUITE_P(Services, CommandLine, testing::Values("hostler-api", "hostler-runner"),
                         [](const auto& param) { return param.param.substr(8); });

TEST(HostlerRunner, TakesAMissingFolderForNoOtherDaemon) {
  ProgramRun run = run_program({build_folder() + "/hostler-runner"},
                               {"HOSTLER_STREAM_SOCKET=/nowhere/stream.sock"});
  EXPECT_EQ(run.status, 71);
  EXPECT_THAT(run.err, HasSubstr("instance_not_locked"));
  EXPECT_THAT(run.err, HasSubstr("No such file or directory"));
}

TEST(Hostlerctl, SaysWhatItCanDoWithoutACommand) {
  ProgramRun run = run_ctl({});
  EXPECT_EQ(run.status, 64);
  EXPECT_THAT(run.out, HasSubstr("setup-database"));
  EXPECT_EQ(run_ctl({"--help"}).status, 0);
  EXPECT_THAT(run_ctl({"--version"}).out, HasSubstr("hostlerctl "));
}

TEST(Hostlerctl, NamesTheCommandThatItDoesNotKnow) {
  ProgramRun run = run_ctl({"frobnicate"});
  EXPECT_EQ(run.status, 64);
  EXPECT_THAT(run.err, HasSubstr("frobnicate"));
  EXPECT_EQ(run_ctl({"admin"}).status, 64);
  EXPECT_EQ(run_ctl({"setup-database"}).status, 64) << "without --superuser-url";
}

TEST(Hostlerctl, ChecksAndPrintsTheSettings) {
  EXPECT_EQ(run_ctl({"check-config"}).status, 0);
  ProgramRun bad = run_ctl({"check-config"}, {"HOSTLER_RUN_SLOTS=many", "HOSTLER_NO_SUCH=1"});
  EXPECT_EQ(bad.status, 78);
  EXPECT_THAT(bad.err, HasSubstr("run.slots"));
  EXPECT_THAT(bad.err, HasSubstr("HOSTLER_NO_SUCH"));
  EXPECT_EQ(run_ctl({"check-config", "-o", "json"}).out, "{\"ok\":true}\n");
  ProgramRun in_json = run_ctl({"check-config", "-o", "json"}, {"HOSTLER_RUN_SLOTS=many"});
  EXPECT_EQ(in_json.status, 78);
  EXPECT_THAT(in_json.out, testing::StartsWith("{\"ok\":false,\"faults\":[\""));
  EXPECT_THAT(in_json.out, HasSubstr("run.slots"));
  EXPECT_THAT(run_ctl({"config", "--example", "-o", "json"}).out,
              testing::StartsWith("{\"example\":\""));
  ProgramRun example = run_ctl({"config", "--example"}, {"HOSTLER_MAIL_SMTP_PASS=hush"});
  EXPECT_THAT(example.out, HasSubstr("#smtp_pass = \"****\""));
  EXPECT_THAT(example.out, Not(HasSubstr("hush")));
}

TEST(Hostlerctl, SaysWhereEachSettingComesFrom) {
  std::string file = testing::TempDir() + "hostler-" + to_hex(random_bytes(8)) + ".toml";
  std::ofstream(file) << "[api]\nworkers = 3\n";
  ProgramRun shown =
      run_ctl({"config", "--config", file},
              {"HOSTLER_RUN_SLOTS=7", "HOSTLER_MAIL_SMTP_PASS=hush",
               "HOSTLER_DATABASE_URL=postgresql://ada:hush@localhost:1/nowhere?connect_timeout=1"});
  EXPECT_EQ(shown.status, 0);
  EXPECT_THAT(shown.err, HasSubstr("settings that administrators stored are missing here"));
  EXPECT_THAT(shown.out, HasSubstr("\napi.workers = 3  # " + file + ":2:1\n"));
  EXPECT_THAT(shown.out, HasSubstr("\nrun.slots = 7  # environment: HOSTLER_RUN_SLOTS\n"));
  EXPECT_THAT(shown.out, HasSubstr("  # default\n"));
  EXPECT_THAT(shown.out, HasSubstr("\n#mail.smtp_pass = \"****\"  # environment: "));
  EXPECT_THAT(shown.out, Not(HasSubstr("hush")));
  ProgramRun changed = run_ctl({"config", "--changed", "--config", file, "-o", "json"},
                               {"HOSTLER_DATABASE_URL=postgresql://localhost:1/nowhere"});
  EXPECT_THAT(changed.out, testing::StartsWith("[{\"key\":\"database.url\""));
  EXPECT_THAT(changed.out,
              HasSubstr("{\"key\":\"api.workers\",\"value\":3,\"source\":\"file\",\"origin\":\"" +
                        file + ":2:1\",\"secret\":false,\"live\":false}"));
  EXPECT_THAT(changed.out, Not(HasSubstr("run.slots")));
  // The output is itself a settings file.
  std::ofstream(file) << shown.out;
  EXPECT_EQ(run_ctl({"check-config", "--config", file}).status, 0);
  std::filesystem::remove(file);
}

TEST(Hostlerctl, HasTheOptionsOfEveryCommandInTheHelpOfAll) {
  ProgramRun help = run_ctl({"--help-all"});
  EXPECT_EQ(help.status, 0);
  for (const char* words :
       {"Usage: hostlerctl run tail", "--after-seq", "Usage: hostlerctl credits adjust", "--amount",
        "--password-stdin", "Usage: hostlerctl session revoke [OPTIONS] [SESSION_ID]"}) {
    EXPECT_THAT(help.out, HasSubstr(words));
  }
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "tail", "--help"}, {"ledger"}, {"version", "--help"}}) {
    EXPECT_THAT(run_ctl(words).out, HasSubstr("--config FILE")) << words.front();
  }
  EXPECT_THAT(run_ctl({"ledger"}).out, HasSubstr("Usage: hostlerctl ledger"));
  EXPECT_THAT(run_ctl({"nonsense"}).err, testing::StartsWith("hostlerctl: "));
  EXPECT_EQ(run_ctl({"session", "revoke"}).status, 64);
  ProgramRun range = run_ctl({"run", "tail", "x", "--after-seq", "-1"});
  EXPECT_EQ(range.status, 64);
  EXPECT_LT(range.err.size(), 200u) << range.err;
}

TEST(Hostlerctl, FailsWhenThereIsNoRoomForItsResult) {
  for (const char* words : {"version", "--help", "config --example"}) {
    std::string command = build_folder() + "/hostlerctl " + words + " >/dev/full";
    ProgramRun full = run_program({"/bin/sh", "-c", command});
    EXPECT_EQ(full.status, 73) << words;
    EXPECT_THAT(full.err, HasSubstr("No space left on device")) << words;
  }
}

TEST(Hostlerctl, PrintsItsVersionsAsJson) {
  EXPECT_THAT(run_ctl({"version", "-o", "json"}).out,
              testing::ContainsRegex(R"(^\{"version":"[0-9.]+","schema_version":"[0-9]{5}"\})"));
}

}  // namespace
}  // namespace hostler
