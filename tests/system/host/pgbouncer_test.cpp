// Debian's PgBouncer between the programs and Postgres. With pool_mode = session everything works;
// with transaction or statement both programs refuse to start and hostlerctl doctor says why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/postgres/session.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {
namespace {

constexpr const char* program = "/usr/sbin/pgbouncer";
constexpr int64_t start_limit_ms = 20'000;

class PgBouncer {
 public:
  explicit PgBouncer(std::string_view pool_mode) {
    std::filesystem::permissions(folder_, std::filesystem::perms::all);
    std::string server = TestDatabase::socket();
    std::string port = server.substr(server.rfind('.') + 1);
    std::ofstream users(folder_ + "/users");
    for (const char* role : {"hostler_api", "hostler_runner", "postgres"}) {
      users << fmt::format("\"{}\" \"\"\n", role);
    }
    users.close();
    std::ofstream settings(folder_ + "/pgbouncer.ini");
    settings << fmt::format(
        "[databases]\n* = host={} port={}\n[pgbouncer]\nlisten_port = {}\nunix_socket_dir = {}\n"
        "auth_type = trust\nauth_file = {}/users\npool_mode = {}\nmax_client_conn = 400\n"
        "default_pool_size = 90\n{}",
        std::filesystem::path(server).parent_path().string(), port, port, folder_, folder_,
        pool_mode, geteuid() == 0 ? "user = " + owner_of(server) + "\n" : "");
    settings.close();
    child_ = std::make_unique<Child>(
        ChildPlan{{program, folder_ + "/pgbouncer.ini"}, {}, folder_ + "/pgbouncer.log", false});
    std::string socket = fmt::format("{}/.s.PGSQL.{}", folder_, port);
    EXPECT_TRUE(eventually(start_limit_ms, [&] { return std::filesystem::exists(socket); }))
        << read_text_file(folder_ + "/pgbouncer.log");
  }
  ~PgBouncer() {
    child_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  PgBouncer(const PgBouncer&) = delete;
  PgBouncer& operator=(const PgBouncer&) = delete;

  const std::string& folder() const { return folder_; }
  std::string through(const std::string& url) const {
    return postgres::conninfo_with(url, {{"host", folder_}});
  }

 private:
  // PgBouncer refuses to run as root, and Postgres knows its own user.
  static std::string owner_of(const std::string& path) {
    struct stat found {};
    const passwd* owner = stat(path.c_str(), &found) == 0 ? getpwuid(found.st_uid) : nullptr;
    return owner == nullptr ? "nobody" : owner->pw_name;
  }
  static std::string new_folder() {
    std::string path = (std::filesystem::temp_directory_path() / "pgbouncer-XXXXXX").string();
    return mkdtemp(path.data()) == nullptr ? "" : path;
  }

  std::string folder_ = new_folder();
  std::unique_ptr<Child> child_;
};

class BehindPgBouncer : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(program))
      GTEST_SKIP() << "PgBouncer IS NOT TESTED: apt-get install pgbouncer";
  }
};

TEST_F(BehindPgBouncer, EverythingWorksWhereSessionsArePooled) {
  PgBouncer pooler("session");
  ApiStack stack({.settings = {},
                  .has_runner = true,
                  .runner_database_host = pooler.folder(),
                  .api_database_host = pooler.folder()});
  add_fake_model(stack, R"("output_usd_per_mtok":2000)");
  TestUser user = register_user(stack);
  RunStory story = run_story(log_in(stack, user), "[words 3]");
  EXPECT_EQ(story.status, "completed") << story.text();
  ProgramRun doctor = run_ctl(
      {"doctor"}, {"HOSTLER_DATABASE_URL=" + pooler.through(stack.database().superuser_url()),
                   "HOSTLER_SECRETS_KEY_FILE=" + stack.folder() + "/key"});
  EXPECT_THAT(doctor.out, testing::ContainsRegex("ok +pooler +"));
  EXPECT_THAT(doctor.out, testing::ContainsRegex("ok +daemon +1 alive"));
}

class WhatPoolsTransactions : public BehindPgBouncer,
                              public testing::WithParamInterface<const char*> {
 protected:
  // Its exit status; what it said is in log_.
  int started(const std::string& name, const std::string& url) {
    std::ofstream(folder_ + "/key") << random_bytes(32);
    std::filesystem::permissions(folder_ + "/key", std::filesystem::perms::owner_read);
    ChildPlan plan{
        {build_folder() + "/" + name},
        {"HOSTLER_DATABASE_URL=" + url, "HOSTLER_API_SOCKET=" + folder_ + "/api.sock",
         "HOSTLER_STREAM_SOCKET=" + folder_ + "/stream.sock",
         "HOSTLER_OUTBOUND_SOCKET=" + folder_ + "/outbound.sock", "HOSTLER_API_LOCK_DIR=" + folder_,
         "HOSTLER_API_WORKERS=2", "HOSTLER_ACCESS_LOG_DIR=", "HOSTLER_METRICS_API_SOCKET=",
         "HOSTLER_METRICS_RUNNER_SOCKET=", "HOSTLER_SECRETS_KEY_FILE=" + folder_ + "/key"},
        folder_ + "/log",
        false};
    Child child(plan);
    bool has_ended = eventually(start_limit_ms, [&] { return !child.is_running(); });
    log_ = read_text_file(folder_ + "/log");
    if (!has_ended) return -1;
    int status = child.wait();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  static std::string new_folder() {
    std::string path = (std::filesystem::temp_directory_path() / "pooled-XXXXXX").string();
    return mkdtemp(path.data()) == nullptr ? "" : path;
  }

  std::string folder_ = new_folder();
  std::string log_;
};

TEST_P(WhatPoolsTransactions, IsRefusedAtTheStartAndByTheDoctor) {
  PgBouncer pooler(GetParam());
  TestDatabase database;
  EXPECT_EQ(started("hostler-runner", pooler.through(database.runner_url())), 78) << log_;
  EXPECT_THAT(log_, testing::HasSubstr("pool_mode = session"));
  EXPECT_EQ(started("hostler-api", pooler.through(database.api_url())), 78) << log_;
  EXPECT_THAT(log_, testing::HasSubstr("pool_mode = session"));
  ProgramRun doctor =
      run_ctl({"doctor"}, {"HOSTLER_DATABASE_URL=" + pooler.through(database.superuser_url())});
  EXPECT_NE(doctor.status, 0);
  EXPECT_THAT(doctor.out, testing::ContainsRegex("failure +pooler +.*pool_mode = session"));
}

INSTANTIATE_TEST_SUITE_P(Modes, WhatPoolsTransactions, testing::Values("transaction", "statement"));

}  // namespace
}  // namespace hostler::testing_support
