// The completions and the manual pages against hostlerctl itself: no command is missing in one.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/rigs/run_program.h"

namespace hostler::style {
namespace {

using testing_support::build_folder;
using testing_support::ProgramRun;
using testing_support::run_ctl;
using testing_support::run_program;

// The words below "Subcommands:" of a help text.
std::vector<std::string> commands_in(const std::string& help) {
  std::vector<std::string> words;
  size_t at = help.find("Subcommands:\n");
  if (at == help.npos) return words;
  at = help.find('\n', at) + 1;
  while (help.compare(at, 2, "  ") == 0) {
    size_t end = help.find('\n', at);
    if (help[at + 2] != ' ') words.push_back(help.substr(at + 2, help.find(' ', at + 2) - at - 2));
    at = end + 1;
  }
  return words;
}

// "admin", "admin create" …
std::vector<std::string> all_commands() {
  std::vector<std::string> all;
  for (const std::string& word : commands_in(run_ctl({"--help"}).out)) {
    all.push_back(word);
    for (const std::string& below : commands_in(run_ctl({word, "--help"}).out)) {
      all.push_back(word + " " + below);
    }
  }
  return all;
}

TEST(Completions, NameEveryCommand) {
  std::vector<std::string> commands = all_commands();
  EXPECT_GT(commands.size(), 35u);
  for (const char* shell : {"bash", "zsh", "fish"}) {
    ProgramRun script = run_ctl({"completion", shell});
    ASSERT_EQ(script.status, 0) << script.err;
    for (const std::string& command : commands) {
      EXPECT_NE(script.out.find("'" + command + "'"), std::string::npos)
          << shell << ": " << command;
    }
  }
}

TEST(Completions, AreUnderstoodByTheirShells) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    if (run_program({"/bin/sh", "-c", "command -v " + shell}).status != 0) {
      std::printf("SKIPPED: %s is missing\n", shell.c_str());
      continue;
    }
    std::string script = run_ctl({"completion", shell}).out;
    ProgramRun read = run_program({shell, "-n", "/dev/stdin"}, {}, script);
    EXPECT_EQ(read.status, 0) << shell << ": " << read.err;
  }
}

TEST(Completions, OfferInBashWhatMayFollow) {
  const std::string complete =
      "source <(\"$CTL\" completion bash); COMP_WORDS=($WORDS ''); "
      "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _hostlerctl; echo \"${COMPREPLY[@]}\"";
  auto offered = [&](const std::string& words) {
    return run_program({"bash", "-c", complete},
                       {"CTL=" + build_folder() + "/hostlerctl", "WORDS=hostlerctl " + words})
        .out;
  };
  EXPECT_EQ(offered("admin").substr(0, 21), "create promote demote");
  EXPECT_EQ(offered("-o json admin").substr(0, 21), "create promote demote");
  EXPECT_EQ(offered("-o"), "text json\n");
  EXPECT_NE(offered("run tail").find("--after-seq"), std::string::npos);
  EXPECT_EQ(offered("outbox list --status").substr(0, 7), "pending");
  EXPECT_EQ(offered("migrate --status").find("pending"), std::string::npos) << "another option";
  EXPECT_EQ(offered("outbox list -o"), "text json\n");
}

TEST(ManualPages, AreWellFormed) {
  if (run_program({"/bin/sh", "-c", "command -v mandoc"}).status != 0) {
    GTEST_SKIP() << "SKIPPED: mandoc is missing (apt install mandoc)";
  }
  const std::string lint = "mandoc -T lint -W warning ";
  for (const char* page : {"hostler.7", "hostler-api.8", "hostler-runner.8"}) {
    ProgramRun stated = run_program({"/bin/sh", "-c", lint + "docs/man/" + page});
    EXPECT_EQ(stated.out + stated.err, "");
  }
  for (const char* made :
       {"hostlerctl.1.sh \"$BUILD/hostlerctl\"", "hostler.toml.5.sh \"$BUILD/hostler-api\""}) {
    ProgramRun stated =
        run_program({"/bin/sh", "-c", std::string("docs/man/") + made + " | " + lint},
                    {"BUILD=" + build_folder()});
    EXPECT_EQ(stated.out + stated.err, "") << made;
  }
}

}  // namespace
}  // namespace hostler::style
