// Commits that share a flush (lib/postgres/commit_flusher.h) against a real Postgres: who is
// answered when the flush is done, late, or never; who does not share; what stays of a session.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "lib/loop/task_set.h"
#include "lib/postgres/database.h"
#include "lib/postgres/param.h"
#include "tests/support/rigs/database.h"
#include "tests/support/run_task.h"

namespace hostler::testing_support {
namespace {

using postgres::Durability;

// A write is reported together with the way of its commit to the disk.
constexpr postgres::Statement write_row{
    "test", "write_row",
    "INSERT INTO written VALUES ($1::integer) RETURNING current_setting('synchronous_commit')", 1};
constexpr postgres::Statement fail_row{"test", "fail_row",
                                       "INSERT INTO written VALUES (1 / $1::integer)", 1};
constexpr postgres::Statement read_rows{"test", "read_rows", "SELECT count(*) FROM written", 0};

// With n, of a statement that takes one.
postgres::BoundStatement bound_to(const postgres::Statement& statement, int64_t n) {
  postgres::param::Integer value = n;
  return statement.params == 0 ? postgres::bound(statement, {})
                               : postgres::bound(statement, {&value});
}

class SharedCommits : public testing::Test {
 protected:
  SharedCommits() : sql_(database_.as_superuser()) {
    sql_.run_text("CREATE TABLE written (n integer)");
    use({});
  }
  ~SharedCommits() override {
    if (stopped_ != 0) kill(stopped_, SIGCONT);
  }

  static constexpr size_t connections = 6;

  // Another Database, whose answers are waited for so long; 0: as everywhere.
  void use(int64_t answer_timeout_ms) {
    postgres::DatabaseOptions options;
    options.conninfo = database_.superuser_url();
    options.application_name = "shared_commits";
    options.dedicated_connections_max = static_cast<int>(connections);
    if (answer_timeout_ms > 0) options.answer_timeout_ms = answer_timeout_ms;
    db_.emplace(loop_, options);
  }

  int64_t number(const std::string& question) {
    return sql_.run_text(question + " AS number").front().integer("number");
  }
  int64_t rows() { return number("SELECT (SELECT count(*) FROM written)"); }

  struct Written {
    std::string waits;  // synchronous_commit when it was written
    std::optional<Error> error;
  };
  static postgres::Batch one(const postgres::Statement& statement, int64_t n) {
    postgres::Batch batch;
    batch.add(bound_to(statement, n));
    return batch;
  }
  static Task<void> write(postgres::Database& db, Durability durability,
                          const postgres::Statement& statement, int64_t n,
                          std::vector<Written>& answered) {
    postgres::Batch batch = one(statement, n);
    postgres::Batch nothing;
    postgres::BatchOutcome outcome =
        co_await db.attempt(std::move(batch), std::move(nothing), durability);
    std::string waits = outcome.error ? "" : std::string(outcome.results.at(0).text());
    answered.push_back({std::move(waits), std::move(outcome.error)});
  }
  static Task<void> write_in_transaction(postgres::Database& db, std::vector<Written>& answered) {
    postgres::Transaction transaction = co_await db.begin(Durability::shared);
    postgres::Result result = co_await transaction.run(bound_to(write_row, 1));
    co_await transaction.commit();
    answered.push_back({std::string(result.text()), std::nullopt});
  }

  void begin(size_t count, Durability durability, const postgres::Statement& statement = write_row,
             int64_t n = 1) {
    for (size_t i = 0; i < count; ++i) tasks_.add(write(*db_, durability, statement, n, answered_));
  }
  void turn_loop() { run_task(loop_, loop::sleep_ms(loop_, 1)); }
  bool turn_until(const std::function<bool()>& is_so) {
    for (int i = 0; i < 10'000 && !is_so(); ++i) turn_loop();
    return is_so();
  }
  bool all_answered(size_t count) {
    return turn_until([&] { return answered_.size() == count; });
  }
  std::vector<Written> take_answers(size_t count) {
    EXPECT_TRUE(all_answered(count));
    return std::exchange(answered_, {});
  }
  static size_t count_of(const std::vector<Written>& written, const std::string& waits) {
    return static_cast<size_t>(
        std::count_if(written.begin(), written.end(),
                      [&](const Written& one) { return !one.error && one.waits == waits; }));
  }

  // Until commits are shared by all but the first of several at once, which nobody else is beside:
  // the connections have to come up, and to hear which server they lead to.
  void share() {
    for (int i = 0; i < 1000; ++i) {
      begin(connections, Durability::shared);
      if (count_of(take_answers(connections), "off") == connections - 1) return;
    }
    FAIL() << "no commit is shared";
  }
  pid_t flusher() {
    return static_cast<pid_t>(
        number("SELECT (SELECT coalesce(min(pid), 0) FROM pg_stat_activity WHERE datname = "
               "current_database() AND query LIKE '%pg_logical_emit_message%' AND pid <> "
               "pg_backend_pid())"));
  }
  // False: Postgres belongs to somebody else, and its processes cannot be stopped.
  bool stop_flusher() {
    stopped_ = flusher();
    return stopped_ != 0 && kill(stopped_, SIGSTOP) == 0;
  }
  void continue_flusher() { kill(std::exchange(stopped_, 0), SIGCONT); }
  // Shared writes that everybody sees, and that were never answered.
  void leave_waiting(size_t count) {
    int64_t before = rows();
    begin(count, Durability::shared);
    EXPECT_TRUE(turn_until([&] { return rows() == before + static_cast<int64_t>(count); }));
    for (int i = 0; i < 50; ++i) turn_loop();
  }

  loop::Loop loop_;
  TestDatabase database_;
  postgres::DbSession sql_;
  std::optional<postgres::Database> db_;
  std::vector<Written> answered_;
  pid_t stopped_ = 0;
  loop::TaskSet tasks_{loop_, [](const std::string&, std::exception_ptr failure) {
                         ADD_FAILURE() << loop::cause_of(failure);
                       }};
};

TEST_F(SharedCommits, OfAWriteThatIsAloneDoNotShare) {
  // On a busy machine the first answer, which waits for the connection, takes longer than the usual
  // limit. What is tested is how the commit waits, not how long.
  use(20'000);
  for (int i = 0; i < 20; ++i) {
    begin(1, Durability::shared);
    std::vector<Written> answered = take_answers(1);
    ASSERT_EQ(answered.size(), 1U);
    EXPECT_EQ(answered[0].error ? answered[0].error->cause : answered[0].waits, "on");
  }
  EXPECT_EQ(flusher(), 0) << "nobody needed one";
}

TEST_F(SharedCommits, LeaveNoTraceInTheSessionsThatTheyUse) {
  share();
  begin(6, Durability::shared);
  EXPECT_GE(count_of(take_answers(6), "off"), 4U);
  begin(6, Durability::own);
  EXPECT_EQ(count_of(take_answers(6), "on"), 6U);
  begin(6, Durability::shared);
  take_answers(6);
  postgres::Transaction transaction = run_task(loop_, db_->begin());
  postgres::Result result = run_task(loop_, transaction.run(bound_to(write_row, 1)));
  EXPECT_EQ(result.text(), "on");
}

TEST_F(SharedCommits, AreAnsweredBehindTheirFlush) {
  share();
  if (!stop_flusher()) GTEST_SKIP() << "Postgres belongs to somebody else";
  leave_waiting(5);
  // Not the first of them perhaps, which was alone, and one whose server is not known yet.
  EXPECT_LE(answered_.size(), 2U);
  EXPECT_EQ(count_of(answered_, "off"), 0U);
  continue_flusher();
  std::vector<Written> answered = take_answers(5);
  EXPECT_GE(count_of(answered, "off"), 3U);
}

TEST_F(SharedCommits, KeepNobodyWaitingWhoWroteNothing) {
  share();
  if (!stop_flusher()) GTEST_SKIP() << "Postgres belongs to somebody else";
  leave_waiting(3);
  size_t before = answered_.size();
  begin(1, Durability::none, read_rows);
  EXPECT_TRUE(all_answered(before + 1));
  begin(1, Durability::shared, fail_row, 0);  // taken back: there is nothing to be lost
  EXPECT_TRUE(all_answered(before + 2));
  EXPECT_TRUE(answered_.back().error);
  begin(1, Durability::own);
  EXPECT_TRUE(all_answered(before + 3));
  EXPECT_EQ(answered_.back().waits, "on");
  continue_flusher();
  take_answers(6);
}

TEST_F(SharedCommits, WhoseFlushIsLostAreAnsweredAsIfTheConnectionWere) {
  share();
  if (!stop_flusher()) GTEST_SKIP() << "Postgres belongs to somebody else";
  leave_waiting(4);
  pid_t lost = stopped_;
  sql_.run_text(fmt::format("SELECT pg_terminate_backend({})", lost));
  continue_flusher();
  std::vector<Written> answered = take_answers(4);
  size_t unknown = static_cast<size_t>(
      std::count_if(answered.begin(), answered.end(), [](const Written& written) {
        return written.error && written.error->code == ErrorCode::database_unavailable &&
               written.error->retry_after_s > 0;
      }));
  EXPECT_GE(unknown, 2U);
  EXPECT_EQ(unknown + count_of(answered, "on"), 4U) << "who shared heard that all is well";
  share();
  EXPECT_NE(flusher(), lost);
}

TEST_F(SharedCommits, WhoseFlushNeverComesAreAnsweredInTime) {
  use(400);
  share();
  if (!stop_flusher()) GTEST_SKIP() << "Postgres belongs to somebody else";
  int64_t begin_ms = loop_.now_ms();
  begin(4, Durability::shared);
  std::vector<Written> answered = take_answers(4);
  EXPECT_LE(loop_.now_ms() - begin_ms, 2000);
  EXPECT_EQ(count_of(answered, "off"), 0U);
  // Nobody is kept from writing: commits wait by themselves until there is another flusher.
  EXPECT_TRUE(turn_until([&] {
    begin(4, Durability::shared);
    std::vector<Written> later = take_answers(4);
    return std::none_of(later.begin(), later.end(), [](const Written& one) { return !!one.error; });
  }));
}

TEST_F(SharedCommits, OfTransactionsWaitForTheFlushToo) {
  share();
  if (!stop_flusher()) GTEST_SKIP() << "Postgres belongs to somebody else";
  int64_t before = rows();
  for (int i = 0; i < 4; ++i) tasks_.add(write_in_transaction(*db_, answered_));
  EXPECT_TRUE(turn_until([&] { return rows() == before + 4; }));
  for (int i = 0; i < 50; ++i) turn_loop();
  EXPECT_LE(answered_.size(), 2U);
  continue_flusher();
  take_answers(4);
}

// Rows of others that a transaction read are on the disk when it reports them.
TEST_F(SharedCommits, AreOnTheDiskWhenAReaderSaysSo) {
  share();
  if (!stop_flusher()) GTEST_SKIP() << "Postgres belongs to somebody else";
  leave_waiting(3);
  postgres::Transaction transaction = run_task(loop_, db_->begin());
  int64_t written_to = number("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn");
  run_task(loop_, transaction.run(read_rows));
  run_task(loop_, transaction.commit_what_was_read());
  EXPECT_GE(number("SELECT pg_current_wal_flush_lsn() - '0/0'::pg_lsn"), written_to);
  continue_flusher();
  take_answers(3);
}

}  // namespace
}  // namespace hostler::testing_support
