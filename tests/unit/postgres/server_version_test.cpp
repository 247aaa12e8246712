// A server that is older than Postgres 15 is refused with its version, by hostlerctl and by the
// services. Its greeting is all that it says here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/error.h"
#include "lib/postgres/session.h"
#include "tests/support/peers/scripted_server.h"
#include "tests/support/rigs/run_program.h"
#include "tests/support/run_task.h"

namespace hostler::testing_support {
namespace {

using testing::HasSubstr;

constexpr const char* too_old = "the server is Postgres 14.9 (Debian 14.9-1), and Hostler needs";

std::string number(size_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

// A message of Postgres's protocol, version 3: its letter, its length, its content.
std::string message(char letter, const std::string& content) {
  return letter + number(content.size() + 4) + content;
}

std::string parameter(const std::string& name, const std::string& value) {
  return message('S', name + '\0' + value + '\0');
}

// Every client is let in without a password.
class Greeting {
 public:
  explicit Greeting(const std::string& version)
      : server_([greeting = message('R', number(0)) + parameter("server_version", version) +
                            parameter("in_hot_standby", "off") +
                            parameter("default_transaction_read_only", "off") +
                            message('Z', "I")](Peer& peer) {
          peer.send(greeting);
          peer.wait_for_close();
        }) {}
  std::string url() const {
    return fmt::format("postgresql://u@127.0.0.1:{}/d?sslmode=disable&gssencmode=disable",
                       server_.port());
  }

 private:
  ScriptedServer server_;
};

TEST(ServerVersion, IsRefusedByASessionWhenItIsOlderThan15) {
  Greeting old("14.9 (Debian 14.9-1)");
  EXPECT_THAT(postgres::why_no_connection(old.url()).value_or(""), HasSubstr(too_old));
  try {
    postgres::DbSession session(old.url(), "test");
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::database_unavailable);
    EXPECT_THAT(error.cause, HasSubstr(too_old));
  }
}

TEST(ServerVersion, IsTakenFrom15On) {
  for (const char* version : {"15.0", "17.6 (Debian 17.6-0+deb13u1)", "18beta1"}) {
    Greeting server(version);
    EXPECT_EQ(postgres::why_no_connection(server.url()), std::nullopt) << version;
  }
}

TEST(ServerVersion, IsRefusedByTheServicesConnections) {
  Greeting old("14.9 (Debian 14.9-1)");
  postgres::DatabaseOptions options;
  options.conninfo = old.url();
  loop::Loop loop;
  postgres::Database db(loop, options);
  static constexpr postgres::Statement one{"test", "one", "SELECT 1", 0};
  postgres::Batch batch;
  batch.add(one);
  Task<postgres::BatchOutcome> asking = db.attempt_pipelined(std::move(batch));
  postgres::BatchOutcome outcome = run_task(loop, std::move(asking));
  ASSERT_TRUE(outcome.error);
  EXPECT_THAT(outcome.error->cause, HasSubstr(too_old));
}

TEST(ServerVersion, IsNamedBySetupAndMigrateWhenItIsTooOld) {
  Greeting old("14.9 (Debian 14.9-1)");
  const std::vector<std::vector<std::string>> commands{
      {"setup", "--dry-run", "--without-nginx", "--superuser-url", old.url()},
      {"setup-database", "--superuser-url", old.url()},
      {"migrate"}};
  for (const std::vector<std::string>& command : commands) {
    ProgramRun run = run_ctl(command, {"HOSTLER_DATABASE_URL=" + old.url()});
    EXPECT_EQ(run.status, 69) << command[0] << run.out;
    EXPECT_THAT(run.err, HasSubstr(too_old)) << command[0];
  }
}

}  // namespace
}  // namespace hostler::testing_support
