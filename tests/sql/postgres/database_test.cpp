// The two lanes of lib/postgres/database.h against a real Postgres: batches are transactions, one
// fault stays in its own batch, lost connections heal, notifications arrive, cancelled waits
// disturb nobody.
#include "lib/postgres/database.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "lib/loop/task_set.h"
#include "lib/postgres/param.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

namespace param = postgres::param;

using testing_support::run_task;

constexpr postgres::Statement echo{"test", "echo", "SELECT $1::text AS said", 1};
constexpr postgres::Statement backend{"test", "backend", "SELECT pg_backend_pid() AS pid", 0};
constexpr postgres::Statement divide{"test", "divide", "SELECT 1 / $1::int AS quotient", 1};
constexpr postgres::Statement kill_backend{"test", "kill_backend",
                                           "SELECT pg_terminate_backend($1::int)", 1};
constexpr postgres::Statement kill_others{
    "test", "kill_others",
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = "
    "'db_test breaks' AND pid <> pg_backend_pid()",
    0};
constexpr postgres::Statement slow{"test", "slow", "SELECT pg_sleep($1::float)", 1};
constexpr postgres::Statement notify{"test", "notify", "SELECT pg_notify($1, $2)", 2};
constexpr postgres::Statement wrong{"test", "wrong", "SELECT nothing_of_this_name", 0};
constexpr postgres::Statement set_tenant{"test", "set_tenant",
                                         "SELECT set_config('test.tenant', $1, true)", 1};
constexpr postgres::Statement tenant{
    "test", "tenant", "SELECT coalesce(current_setting('test.tenant', true), '') AS tenant", 0};
constexpr postgres::Statement arrays{
    "test", "arrays",
    "SELECT $1::uuid[]::text AS u, $2::text[]::text AS t, $3::bigint[]::text AS b, "
    "$4::json[]::text AS j, encode($5::bytea, 'hex') AS raw",
    5};
constexpr postgres::Statement raised{
    "test", "raised",
    "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'HS000', "
    "MESSAGE = 'runs.thread_busy run_is_active', HINT = '{\"active_run_id\": \"x\"}', "
    "DETAIL = 'api_key 01a1fa43-8dcd-7506-ab81-ef7a33b2be1a -'; END $$",
    0};

// Statements in the form of sql/embed_queries.py.
struct Echo {
  param::Text text;
  operator postgres::BoundStatement() && { return postgres::bound(echo, {&text}); }
};
struct Divide {
  param::Integer divisor;
  operator postgres::BoundStatement() && { return postgres::bound(divide, {&divisor}); }
};
struct KillBackend {
  param::Integer pid;
  operator postgres::BoundStatement() && { return postgres::bound(kill_backend, {&pid}); }
};
struct Slow {
  param::Text seconds;
  operator postgres::BoundStatement() && { return postgres::bound(slow, {&seconds}); }
};
struct Notify {
  param::Text channel;
  param::Text payload;
  operator postgres::BoundStatement() && { return postgres::bound(notify, {&channel, &payload}); }
};
struct SetTenant {
  param::Text tenant;
  operator postgres::BoundStatement() && { return postgres::bound(set_tenant, {&tenant}); }
};
struct Arrays {
  param::Uuids uuids;
  param::Texts texts;
  param::Integers integers;
  param::Jsons jsons;
  param::Bytes raw;
  operator postgres::BoundStatement() && {
    return postgres::bound(arrays, {&uuids, &texts, &integers, &jsons, &raw});
  }
};

class DbTest : public ::testing::Test {
 protected:
  static postgres::DatabaseOptions options() {
    const char* url = std::getenv("TEST_DATABASE_URL");
    postgres::DatabaseOptions made;
    made.conninfo = url == nullptr ? "" : url;
    made.application_name = "db_test";
    made.dedicated_connections_max = 2;
    return made;
  }

  std::string ask(postgres::Database& db, std::string text) {
    postgres::Result result = run_task(loop_, db.pipelined(Echo{.text = text}));
    return std::string(result.front().text("said"));
  }

  loop::Loop loop_;
};

TEST_F(DbTest, AnswersOnBothLanes) {
  postgres::Database db(loop_, options());
  EXPECT_EQ(ask(db, "hello"), "hello");
  postgres::Result own = run_task(loop_, db.dedicated(Echo{.text = "own"}));
  EXPECT_EQ(own.front().text("said"), "own");
}

TEST_F(DbTest, ABatchIsOneTransactionAndItsSettingsEndWithIt) {
  postgres::Database db(loop_, options());
  postgres::Batch batch;
  batch.add(SetTenant{.tenant = "blue"}).add(tenant);
  postgres::Results results = run_task(loop_, db.pipelined(std::move(batch)));
  EXPECT_EQ(results.at(1).front().text("tenant"), "blue");
  postgres::Result after = run_task(loop_, db.pipelined(tenant));
  EXPECT_EQ(after.front().text("tenant"), "");
}

TEST_F(DbTest, AFaultEndsItsOwnBatchOnly) {
  postgres::Database db(loop_, options());
  int failed = 0;
  int answered = 0;
  auto one = [](postgres::Database& database, int divisor, int& bad, int& good) -> Task<void> {
    postgres::Batch batch;
    batch.add(Divide{.divisor = divisor});
    postgres::BatchOutcome outcome = co_await database.attempt(std::move(batch));
    (outcome.error ? bad : good) += 1;
  };
  auto pipelined_one = [](postgres::Database& database, int divisor, int& bad,
                          int& good) -> Task<void> {
    try {
      postgres::BoundStatement quotient = Divide{.divisor = divisor};
      co_await database.pipelined(std::move(quotient));
      ++good;
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::internal_error);
      ++bad;
    }
  };
  {
    loop::TaskSet tasks(loop_, [](const std::string&, std::exception_ptr) { ADD_FAILURE(); });
    for (int i = 0; i < 40; ++i) tasks.add(pipelined_one(db, i % 2, failed, answered));
    for (int i = 0; i < 10; ++i) tasks.add(one(db, i % 2, failed, answered));
    while (failed + answered < 50) run_task(loop_, loop::sleep_ms(loop_, 1));
  }
  EXPECT_EQ(failed, 25);
  EXPECT_EQ(answered, 25);
}

TEST_F(DbTest, AStatementThatCannotBePreparedFailsEachTimeAndDisturbsNobody) {
  postgres::Database db(loop_, options());
  for (int i = 0; i < 3; ++i) EXPECT_THROW(run_task(loop_, db.pipelined(wrong)), Error);
  EXPECT_EQ(ask(db, "still here"), "still here");
}

TEST_F(DbTest, APlanThatAMigrationMadeInvalidIsMadeAnewUnseen) {
  static constexpr postgres::Statement create{
      "test", "create", "CREATE TABLE IF NOT EXISTS db_test_plan AS SELECT 1 AS n", 0};
  static constexpr postgres::Statement alter{
      "test", "alter", "ALTER TABLE db_test_plan ALTER n TYPE text USING n::text", 0};
  static constexpr postgres::Statement drop{"test", "drop", "DROP TABLE db_test_plan", 0};
  static constexpr postgres::Statement look{"test", "look", "SELECT n FROM db_test_plan", 0};
  postgres::Database db(loop_, options());
  postgres::Database other(loop_, options());
  run_task(loop_, other.dedicated(create));
  run_task(loop_, db.pipelined(look));
  run_task(loop_, db.dedicated(look));
  run_task(loop_, other.dedicated(alter));
  EXPECT_EQ(run_task(loop_, db.pipelined(look)).front().text("n"), "1");
  EXPECT_EQ(run_task(loop_, db.dedicated(look)).front().text("n"), "1");
  run_task(loop_, other.dedicated(drop));
}

TEST_F(DbTest, ArraysAndBytesArriveAsTheyWereGiven) {
  postgres::Database db(loop_, options());
  postgres::Result result = run_task(
      loop_,
      db.pipelined(Arrays{.uuids = std::vector<std::string>{"01a1fa31-df97-727a-9389-354c3c178af2"},
                          .texts = std::vector<std::string>{"a,b", "c\"d", "é"},
                          .integers = std::vector<int64_t>{1, -2},
                          .jsons = std::vector<std::string>{"{\"x\": [1]}"},
                          .raw = std::string("\0\xff", 2)}));
  postgres::Row row = result.front();
  EXPECT_EQ(row.text("u"), "{01a1fa31-df97-727a-9389-354c3c178af2}");
  EXPECT_EQ(row.text("t"), "{\"a,b\",\"c\\\"d\",é}");
  EXPECT_EQ(row.text("b"), "{1,-2}");
  EXPECT_EQ(row.text("j"), "{\"{\\\"x\\\": [1]}\"}");
  EXPECT_EQ(row.text("raw"), "00ff");
}

TEST_F(DbTest, WhatAFunctionRaisesIsTheErrorOfTheApi) {
  postgres::Database db(loop_, options());
  try {
    run_task(loop_, db.dedicated(raised));
    FAIL() << "no error came";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::runs_thread_busy);
    EXPECT_EQ(error.detail,
              "Wait for it, cancel it, or set multitask_strategy to enqueue or interrupt.");
    ASSERT_EQ(error.members.size(), 1U);
    EXPECT_EQ(error.members[0].second, "\"x\"");
    ASSERT_TRUE(error.refused);
    EXPECT_EQ(identity_text(*error.refused), "api_key 01a1fa43-8dcd-7506-ab81-ef7a33b2be1a -");
  }
}

// A denial is recorded with its organization.
Task<void> ask_slowly(postgres::Database& db, uint32_t org, std::string seconds, std::string& ended,
                      uint32_t user = 0) {
  postgres::Party party = uint64_t{org} << 32 | user;
  postgres::Batch batch;
  batch.add(Slow{.seconds = std::move(seconds)});
  postgres::Batch nothing;
  co_await db.attempt(std::move(batch), std::move(nothing), postgres::Durability::none, party);
  ended += std::to_string(org);
}

TEST_F(DbTest, WhoWaitForADedicatedConnectionTakeTurnsByParty) {
  postgres::Database db(loop_, options());
  std::string ended;
  loop::TaskSet tasks(loop_, [](const std::string&, std::exception_ptr) { FAIL(); });
  for (int i = 0; i < 6; ++i) tasks.add(ask_slowly(db, 1, "0.05", ended));
  tasks.add(ask_slowly(db, 2, "0", ended));
  EXPECT_EQ(db.dedicated_waiting(), 5);
  while (ended.size() < 7) run_task(loop_, loop::sleep_ms(loop_, 1));
  EXPECT_LT(ended.find('2'), 4U) << ended;
}

TEST_F(DbTest, APartyLeavesConnectionsToOthers) {
  postgres::DatabaseOptions shared = options();
  shared.party_connections_max = 1;
  postgres::Database db(loop_, shared);
  std::string ended;
  loop::TaskSet tasks(loop_, [](const std::string&, std::exception_ptr) { FAIL(); });
  for (int i = 0; i < 2; ++i) tasks.add(ask_slowly(db, 1, "0.3", ended));
  tasks.add(ask_slowly(db, 2, "0", ended));
  while (ended.size() < 3) run_task(loop_, loop::sleep_ms(loop_, 1));
  EXPECT_EQ(ended, "211");
}

TEST_F(DbTest, AUserLeavesConnectionsToOthersInHoweverManyOrganizations) {
  postgres::DatabaseOptions shared = options();
  shared.dedicated_connections_max = 4;
  shared.party_connections_max = 2;
  postgres::Database db(loop_, shared);
  std::string ended;
  loop::TaskSet tasks(loop_, [](const std::string&, std::exception_ptr) { FAIL(); });
  for (uint32_t org = 1; org <= 5; ++org) tasks.add(ask_slowly(db, org, "0.3", ended, 7));
  tasks.add(ask_slowly(db, 1, "0", ended, 8));
  tasks.add(ask_slowly(db, 6, "0", ended, 9));
  while (ended.size() < 7) run_task(loop_, loop::sleep_ms(loop_, 1));
  EXPECT_TRUE(ended.starts_with("16") || ended.starts_with("61")) << ended;
}

// libpq finds the broken socket while it sends, and closes it there: its number may be the next
// socket's before anybody here learns of it.
TEST_F(DbTest, ASocketThatBreaksWhileItIsWrittenToIsNoticedAtOnce) {
  postgres::DatabaseOptions many = options();
  many.dedicated_connections_max = 12;
  many.application_name = "db_test breaks";
  postgres::Database db(loop_, many);
  postgres::Database killer(loop_, options());
  std::string much(1 << 20, 'x');
  for (int round = 0; round < 2; ++round) {
    std::vector<std::string> causes;
    loop::TaskSet tasks(loop_, [](const std::string&, std::exception_ptr) { FAIL(); });
    auto ask_much = [](postgres::Database& asked, const std::string& text,
                       std::vector<std::string>& ended) -> Task<void> {
      postgres::Batch batch;
      batch.add(Echo{.text = text});
      postgres::BatchOutcome outcome = co_await asked.attempt(std::move(batch));
      ended.push_back(outcome.error ? outcome.error->cause : "");
    };
    for (int i = 0; i < 12; ++i) tasks.add(ask_much(db, "", causes));
    while (causes.size() < 12) run_task(loop_, loop::sleep_ms(loop_, 1));
    run_task(loop_, killer.pipelined(kill_others));
    for (int i = 0; i < 12; ++i) tasks.add(ask_much(db, much, causes));
    while (causes.size() < 24) run_task(loop_, loop::sleep_ms(loop_, 1));
    for (const std::string& cause : causes) EXPECT_NE(cause, "no answer in time");
  }
  EXPECT_EQ(ask(db, "well"), "well");
}

TEST_F(DbTest, ALostConnectionIsMadeAnew) {
  postgres::Database db(loop_, options());
  postgres::Database killer(loop_, options());
  postgres::Result before = run_task(loop_, db.pipelined(backend));
  int64_t pid = before.front().integer("pid");
  run_task(loop_, killer.pipelined(KillBackend{.pid = pid}));
  int64_t again = pid;
  for (int tried = 0; tried < 100 && again == pid; ++tried) {
    postgres::Batch batch;
    batch.add(backend);
    try {
      postgres::Result after = run_task(loop_, db.pipelined(backend));
      again = after.front().integer("pid");
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::database_unavailable);
      EXPECT_GT(error.retry_after_s, 0);
    }
  }
  EXPECT_NE(again, pid);
}

TEST_F(DbTest, WithoutAServerTheAnswerComesInTime) {
  postgres::DatabaseOptions nowhere = options();
  nowhere.conninfo = "host=/nonexistent dbname=x";
  postgres::Database db(loop_, nowhere);
  int64_t start_ms = loop_.now_ms();
  EXPECT_THROW(run_task(loop_, db.pipelined(tenant)), Error);
  EXPECT_LE(loop_.now_ms() - start_ms, 3000);
}

TEST_F(DbTest, AnAnswerThatDoesNotComeIsAnErrorAndTheNextOneComes) {
  postgres::DatabaseOptions hasty = options();
  hasty.answer_timeout_ms = 300;
  hasty.statement_timeout_ms = 60'000;
  postgres::Database db(loop_, hasty);
  try {
    run_task(loop_, db.dedicated(Slow{.seconds = "30"}));
    FAIL() << "no error came";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::database_unavailable);
  }
  EXPECT_EQ(ask(db, "quick"), "quick");
}

TEST_F(DbTest, AWaitThatIsCancelledLeavesTheConnectionUsable) {
  postgres::Database db(loop_, options());
  ASSERT_EQ(ask(db, "warm"), "warm");
  {
    loop::TaskSet tasks(loop_, [](const std::string&, std::exception_ptr) {});
    auto wait = [](postgres::Database& database) -> Task<void> {
      postgres::BoundStatement pause = Slow{.seconds = "0.05"};
      co_await database.dedicated(std::move(pause));
    };
    tasks.add("one", wait(db));
    tasks.add("two", wait(db));
    loop_.run_once();
    tasks.erase("one");
  }
  postgres::Result own = run_task(loop_, db.dedicated(Echo{.text = "free again"}));
  EXPECT_EQ(own.front().text("said"), "free again");
}

TEST_F(DbTest, ATransactionThatIsNotCommittedIsRolledBack) {
  postgres::Database db(loop_, options());
  auto half = [](postgres::Database& database) -> Task<void> {
    postgres::Transaction transaction = co_await database.begin();
    postgres::BoundStatement tenant_set = SetTenant{.tenant = "half"};
    co_await transaction.run(std::move(tenant_set));
    postgres::Result inside = co_await transaction.run(tenant);
    EXPECT_EQ(inside.front().text("tenant"), "half");
  };
  run_task(loop_, half(db));
  for (int i = 0; i < 2; ++i) {
    postgres::Result after = run_task(loop_, db.dedicated(tenant));
    EXPECT_EQ(after.front().text("tenant"), "");
  }
}

TEST_F(DbTest, NotificationsArriveAndListeningIsToldAfterEachConnection) {
  postgres::Database db(loop_, options());
  postgres::Database other(loop_, options());
  int listening = 0;
  std::vector<std::string> received;
  db.listen(
      {"db_test_a", "db_test_b"},
      [&](std::string_view channel, std::string_view payload) {
        received.push_back(std::string(channel) + ":" + std::string(payload));
      },
      [&] { ++listening; });
  while (listening == 0) run_task(loop_, loop::sleep_ms(loop_, 1));
  run_task(loop_, other.pipelined(Notify{.channel = "db_test_b", .payload = "one"}));
  while (received.empty()) run_task(loop_, loop::sleep_ms(loop_, 1));
  EXPECT_EQ(received.at(0), "db_test_b:one");
  postgres::Result mine = run_task(loop_, db.pipelined(backend));
  run_task(loop_, other.pipelined(KillBackend{.pid = mine.front().integer("pid")}));
  while (listening < 2) run_task(loop_, loop::sleep_ms(loop_, 1));
  run_task(loop_, other.pipelined(Notify{.channel = "db_test_a", .payload = "two"}));
  while (received.size() < 2) run_task(loop_, loop::sleep_ms(loop_, 1));
  EXPECT_EQ(received.at(1), "db_test_a:two");
}

TEST_F(DbTest, IsNotDeafToAChannelForLong) {
  postgres::Database db(loop_, options());
  bool is_listening = false;
  db.listen(
      {"refused by the server", "db_test_b"}, [](std::string_view, std::string_view) {},
      [&] { is_listening = true; });
  while (db.sessions_begun() < 3) run_task(loop_, loop::sleep_ms(loop_, 1));
  EXPECT_FALSE(is_listening) << "each connection is given up and made anew";
}

}  // namespace
}  // namespace hostler
