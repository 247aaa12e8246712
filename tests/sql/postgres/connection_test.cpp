// Connections of lib/postgres whose plans are not valid any more, and connections to no server.
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "lib/error.h"
#include "lib/net/unix_listener.h"
#include "lib/postgres/database.h"
#include "tests/support/rigs/database.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::run_task;
using testing_support::TestDatabase;

postgres::DatabaseOptions one_connection() {
  const char* url = std::getenv("TEST_DATABASE_URL");
  postgres::DatabaseOptions made;
  made.conninfo = url == nullptr ? "" : url;
  made.application_name = "connection_test";
  made.dedicated_connections_max = 1;
  return made;
}

TEST(DbConnection, MakesAPlanAnewBehindTheTransactionInWhichItBecameInvalid) {
  static constexpr postgres::Statement create{
      "test", "create", "CREATE TABLE IF NOT EXISTS db_test_plan_within AS SELECT 1 AS n", 0};
  static constexpr postgres::Statement alter{
      "test", "alter", "ALTER TABLE db_test_plan_within ALTER n TYPE text USING n::text", 0};
  static constexpr postgres::Statement drop{"test", "drop", "DROP TABLE db_test_plan_within", 0};
  static constexpr postgres::Statement look{"test", "look_within",
                                            "SELECT n FROM db_test_plan_within", 0};
  loop::Loop loop;
  postgres::Database db(loop, one_connection());
  postgres::Database other(loop, one_connection());
  run_task(loop, other.dedicated(create));
  run_task(loop, db.dedicated(look));
  run_task(loop, other.dedicated(alter));
  {
    postgres::Transaction transaction = run_task(loop, db.begin());
    postgres::Batch batch;
    batch.add(look);
    EXPECT_THROW(run_task(loop, transaction.run(std::move(batch))), Error);
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run_task(loop, db.dedicated(look)).front().text("n"), "1");
  }
  run_task(loop, other.dedicated(drop));
}

// A later batch would be answered and never be committed.
TEST(DbConnection, IsInNoTransactionBehindABeginWhoseCallerWent) {
  static constexpr postgres::Statement create{"test", "create_behind",
                                              "CREATE TABLE db_test_behind AS SELECT 1 AS n", 0};
  static constexpr postgres::Statement drop{"test", "drop_behind",
                                            "DROP TABLE IF EXISTS db_test_behind", 0};
  static constexpr postgres::Statement look{
      "test", "look_behind", "SELECT to_regclass('db_test_behind') IS NOT NULL AS is_there", 0};
  loop::Loop loop;
  postgres::Database db(loop, one_connection());
  postgres::Database other(loop, one_connection());
  run_task(loop, db.dedicated(drop));
  {
    Task<postgres::Transaction> beginning = db.begin();
    beginning.start(nullptr);
  }
  run_task(loop, db.dedicated(create));
  EXPECT_TRUE(run_task(loop, other.dedicated(look)).front().boolean("is_there"));
  run_task(loop, db.dedicated(drop));
}

// The bound of batches on their way is released only after their answers.
TEST(DbConnection, KeepsWhatABatchIsGivenUntilTheAnswerThoughItsCallerWent) {
  static constexpr postgres::Statement nap{"test", "nap", "SELECT pg_sleep(0.05)", 0};
  static constexpr postgres::Statement look{"test", "look_kept", "SELECT 1 AS n", 0};
  loop::Loop loop;
  postgres::Database db(loop, one_connection());
  run_task(loop, db.pipelined(look));
  auto kept = std::make_shared<int>(0);
  std::weak_ptr<int> is_there = kept;
  {
    postgres::Batch batch;
    batch.add(nap);
    Task<postgres::BatchOutcome> asking = db.attempt_pipelined(std::move(batch), std::move(kept));
    asking.start(nullptr);
  }
  EXPECT_FALSE(is_there.expired());
  run_task(loop, db.pipelined(look));
  EXPECT_TRUE(is_there.expired());
}

// A server of the protocol that reports itself to every client as a standby.
class Standby {
 public:
  Standby() {
    fd_ = net::listen_unix(fmt::format("{}/.s.PGSQL.1", folder_), 0600);
    thread_ = std::thread([this] { answer_all(); });
  }
  ~Standby() {
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_);
    std::filesystem::remove_all(folder_);
  }
  Standby(const Standby&) = delete;
  Standby& operator=(const Standby&) = delete;
  std::string url() const {
    return fmt::format("host={} port=1 user=nobody sslmode=disable", folder_);
  }

 private:
  // A message: its letter, its length, its text.
  static std::string message(char letter, std::string_view text) {
    std::string bytes{letter, '\0', '\0', '\0', static_cast<char>(text.size() + 4)};
    return bytes.append(text);
  }
  static std::string parameter(std::string_view name, std::string_view value) {
    return message('S', std::string(name) + '\0' + std::string(value) + '\0');
  }
  void answer_all() {
    using namespace std::string_literals;
    std::string greeting = message('R', "\0\0\0\0"s) + parameter("server_version", "15.0") +
                           parameter("in_hot_standby", "on") + message('K', "\0\0\0\1\0\0\0\1"s) +
                           message('Z', "I");
    pollfd waiting{fd_, POLLIN, 0};
    while (poll(&waiting, 1, -1) == 1 && (waiting.revents & POLLHUP) == 0) {
      int client = accept(fd_, nullptr, nullptr);
      if (client < 0) continue;
      std::array<char, 1024> start{};
      if (read(client, start.data(), start.size()) > 0) {
        [[maybe_unused]] ssize_t sent = write(client, greeting.data(), greeting.size());
      }
      [[maybe_unused]] ssize_t last = read(client, start.data(), start.size());
      close(client);
    }
  }

  static std::string new_folder() {
    std::string path = (std::filesystem::temp_directory_path() / "standby-XXXXXX").string();
    return mkdtemp(path.data()) == nullptr ? "" : path;
  }

  std::string folder_ = new_folder();
  int fd_ = -1;
  std::thread thread_;
};

// Where the primary was, a standby may answer.
TEST(DbConnection, IsNoneToAStandby) {
  Standby standby;
  static constexpr postgres::Statement look{"test", "look", "SELECT 1 AS n", 0};
  loop::Loop loop;
  postgres::DatabaseOptions options = one_connection();
  options.conninfo = standby.url();
  postgres::Database db(loop, options);
  try {
    run_task(loop, db.pipelined(look));
    ADD_FAILURE() << "answered by a standby";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::database_unavailable);
    EXPECT_NE(error.cause.find("hot standby"), std::string::npos) << error.cause;
  }
  EXPECT_NE(postgres::why_no_connection(standby.url()), std::nullopt);
  std::string any = postgres::conninfo_with(standby.url(), {{"target_session_attrs", "any"}});
  EXPECT_EQ(postgres::why_no_connection(any), std::nullopt) << "but to whoever asks for it";
}

}  // namespace
}  // namespace hostler
