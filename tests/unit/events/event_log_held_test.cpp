// The event log while somebody else holds a row that one run wants: the others commit within a
// second, in both lanes, and the one that waits commits once, in its order, when the row is free.
//
// HELD_ROW_MS (3000; `make faults`: 10000): for how long a row is held.
#include "runner/events/event_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "lib/loop/task_set.h"
#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/rows/run_fixture.h"
#include "tests/support/run_task.h"

namespace hostler::runner {
namespace {

using testing_support::parameter;
using testing_support::run_task;
using testing_support::RunFixture;
using testing_support::TestDatabase;

constexpr double wait_s_max = 1.0;
// From a row's release to the commit: the longest pause between two tries, and what a busy machine
// adds to it.
constexpr double held_wait_s_max = 1.5;
constexpr size_t orgs = 10;
constexpr int others_per_org = 5;

double now_s() {
  auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

class HeldRow : public ::testing::Test {
 protected:
  HeldRow() {
    for (size_t i = 0; i < orgs; ++i) {
      fixtures_.push_back(std::make_unique<RunFixture>(database_, std::to_string(i)));
    }
    daemon_id_ = fixture().new_daemon("here");
    open(2400);
  }
  static postgres::DatabaseOptions options(const TestDatabase& database) {
    postgres::DatabaseOptions options;
    options.conninfo = database.runner_url();
    options.lock_timeout_ms = EventLog::lock_timeout_ms;
    return options;
  }
  void open(int64_t statement_timeout_ms) {
    postgres::DatabaseOptions with = options(database_);
    with.statement_timeout_ms = statement_timeout_ms;
    db_ = std::make_unique<postgres::Database>(loop_, with);
    log_ = std::make_unique<EventLog>(
        loop_, *db_, bus_, metrics_, daemon_id_,
        [](const RunWriterPtr& lost) { FAIL() << lost->claim().id << " is lost"; });
    log_->set_others_alive(false);
  }
  void start() {
    tasks_ = std::make_unique<loop::TaskSet>(
        loop_, [](const std::string&, std::exception_ptr) { FAIL() << "the log broke"; });
    tasks_->add("events", log_->write_events());
    tasks_->add("steps", log_->write_steps());
  }
  RunFixture& fixture(size_t place = 0) { return *fixtures_.at(place); }
  RunWriterPtr owned_run(size_t place = 0) {
    Claim claim;
    claim.thread_id = fixture(place).new_thread();
    claim.id = fixture(place).new_run(claim.thread_id);
    claim.org_id = fixture(place).org_id;
    claim.epoch = fixture(place).claim(daemon_id_, claim.id);
    return log_->open(std::move(claim));
  }
  void add_endpoint() {
    fixture().column(
        fmt::format("WITH secret AS (INSERT INTO secrets (id, org_id, kind, key_version, "
                    "wrapped_key, sealed) VALUES (uuidv7(), '{0}', 'webhook', 1, 'x', 'x') "
                    "RETURNING id) "
                    "INSERT INTO webhook_endpoints (org_id, url, events, secret_id) "
                    "SELECT '{0}', 'https://example.org', '{{run.completed}}', id FROM secret "
                    "RETURNING id",
                    fixture().org_id));
  }
  static TurnRecord turn(int number) {
    TurnRecord record;
    record.turn = number;
    record.parts_json = parts_json(parts_of("hello", {}));
    record.usage.output_tokens = 1;
    return record;
  }
  static Outcome completion() {
    Outcome outcome;
    outcome.status = "completed";
    outcome.answer = "hello";
    return outcome;
  }
  void append_turn(const RunWriterPtr& run, int number) {
    run->append("turn.completed", "{}");
    run->commit_turn(turn(number));
  }
  void append_end(const RunWriterPtr& run) { run->end("run.completed", "{}", completion()); }

  // Until what was appended is on disk.
  Task<void> measured(RunWriterPtr run, std::vector<double>* waits) {
    double begun = now_s();
    bool is_on_disk = co_await run->committed();
    EXPECT_TRUE(is_on_disk);
    waits->push_back(now_s() - begun);
  }
  // An event alone, a turn, again and again; then its end.
  Task<void> work(RunWriterPtr run) {
    for (int number = 1; is_held_; ++number) {
      run->append("message.delta", "{}");
      co_await measured(run, &event_waits_);
      append_turn(run, number);
      co_await measured(run, &step_waits_);
      co_await loop::sleep_ms(loop_, 400);
    }
    append_end(run);
    co_await measured(run, &step_waits_);
    --working_;
  }
  Task<void> hold_while_others_work(postgres::DbSession& session) {
    co_await loop::sleep_ms(loop_, parameter("HELD_ROW_MS", 3000));
    // A run that is just tried again is not counted; a try ends with the lock's timeout.
    for (int i = 0; i < 100 && log_->runs_blocked() < std::ssize(held_); ++i) {
      co_await loop::sleep_ms(loop_, 10);
    }
    EXPECT_EQ(log_->runs_blocked(), std::ssize(held_));
    for (const RunWriterPtr& run : held_) EXPECT_FALSE(run->is_on_disk());
    is_held_ = false;
    session.commit();
    for (const RunWriterPtr& run : held_) {
      co_await measured(run, &held_waits_);
    }
    while (working_ > 0) co_await loop::sleep_ms(loop_, 10);
  }
  // row: what is held. what_is_held: appends to it; its runs are held_.
  void expect_others_go_on(const std::string& row, const std::function<void()>& what_is_held) {
    std::vector<RunWriterPtr> others;
    for (size_t i = 0; i < orgs * others_per_org; ++i) {
      others.push_back(owned_run(is_org_held_ ? 1 + i % (orgs - 1) : i % orgs));
    }
    start();
    postgres::DbSession session = database_.as_superuser();
    session.begin();
    EXPECT_EQ(session.run_text("SELECT FROM " + row + " FOR UPDATE").size(), 1);
    what_is_held();
    for (const RunWriterPtr& run : others) {
      ++working_;
      tasks_->add(run->claim().id, work(run));
    }
    run_task(loop_, hold_while_others_work(session));
    EXPECT_LE(p99(event_waits_), wait_s_max);
    EXPECT_LE(p99(step_waits_), wait_s_max);
    EXPECT_LE(p99(held_waits_), held_wait_s_max);
    EXPECT_GT(log_->flushes_refused(), 0);
    EXPECT_EQ(log_->runs_blocked(), 0);
    EXPECT_EQ(fixture().column("SELECT count(*) FROM runs WHERE status = 'completed'"),
              std::to_string(others.size() + (held_.front()->has_ended() ? held_.size() : 0)));
  }
  static double p99(std::vector<double> waits) {
    EXPECT_FALSE(waits.empty());
    std::sort(waits.begin(), waits.end());
    return waits.empty() ? 0 : waits[waits.size() * 99 / 100];
  }
  std::string types_of(const RunWriterPtr& run) {
    return fixture().column(
        fmt::format("SELECT string_agg(seq || ' ' || type, ', ' ORDER BY seq) FROM run_events "
                    "WHERE run_id = '{}'",
                    run->claim().id));
  }
  std::string count_of(const std::string& table, const RunWriterPtr& run) {
    return fixture().column(
        fmt::format("SELECT count(*) FROM {} WHERE run_id = '{}'", table, run->claim().id));
  }

  TestDatabase database_;
  std::vector<std::unique_ptr<RunFixture>> fixtures_;
  std::string daemon_id_;
  loop::Loop loop_;
  events::EventBus bus_;
  RunnerMetrics metrics_;
  std::unique_ptr<postgres::Database> db_;
  std::unique_ptr<EventLog> log_;
  std::unique_ptr<loop::TaskSet> tasks_;
  std::vector<RunWriterPtr> held_;
  bool is_org_held_ = false;  // the others are not of the first organization
  bool is_held_ = true;
  int working_ = 0;
  std::vector<double> event_waits_;
  std::vector<double> step_waits_;
  std::vector<double> held_waits_;
};

TEST_F(HeldRow, OfAnAccountDelaysItsOrganizationAlone) {
  is_org_held_ = true;
  held_ = {owned_run(), owned_run(), owned_run()};
  expect_others_go_on(fmt::format("credit_accounts WHERE org_id = '{}'", fixture().org_id), [&] {
    for (const RunWriterPtr& run : held_) {
      append_turn(run, 1);
      loop_.defer([this, run] {
        run->append("message.delta", "{}");
        append_end(run);
      });
    }
  });
  for (const RunWriterPtr& run : held_) {
    EXPECT_EQ(types_of(run), "1 turn.completed, 2 message.delta, 3 run.completed");
    EXPECT_EQ(count_of("run_turns", run), "1");
    EXPECT_EQ(count_of("usage_records", run), "1");
  }
}

TEST_F(HeldRow, OfAThreadDelaysItsRunAlone) {
  held_ = {owned_run()};
  expect_others_go_on(fmt::format("threads WHERE id = '{}'", held_.front()->claim().thread_id),
                      [&] { append_end(held_.front()); });
  EXPECT_EQ(types_of(held_.front()), "1 run.completed");
  EXPECT_EQ(count_of("messages", held_.front()), "1");
}

TEST_F(HeldRow, OfARunDelaysItsEventsAlone) {
  held_ = {owned_run()};
  expect_others_go_on(fmt::format("runs WHERE id = '{}'", held_.front()->claim().id),
                      [&] { held_.front()->append("run.started", "{}"); });
  EXPECT_EQ(types_of(held_.front()), "1 run.started");
}

TEST_F(HeldRow, OfARunDelaysItsStepsAlone) {
  held_ = {owned_run()};
  expect_others_go_on(fmt::format("runs WHERE id = '{}'", held_.front()->claim().id),
                      [&] { append_turn(held_.front(), 1); });
  EXPECT_EQ(types_of(held_.front()), "1 turn.completed");
  EXPECT_EQ(count_of("run_turns", held_.front()), "1");
}

TEST_F(HeldRow, OfAWebhookEndpointDelaysTheEndsOfItsOrganizationAlone) {
  add_endpoint();
  held_ = {owned_run()};
  expect_others_go_on(fmt::format("webhook_endpoints WHERE org_id = '{}'", fixture().org_id),
                      [&] { append_end(held_.front()); });
  EXPECT_EQ(types_of(held_.front()), "1 run.completed");
}

// The rest of a flight pays for nothing when the one that paid has left it.
TEST_F(HeldRow, OfWhoPaysDelaysNoToolOfOthers) {
  held_ = {owned_run()};
  RunWriterPtr other = owned_run(1);
  postgres::DbSession session = database_.as_superuser();
  session.begin();
  session.run_text(
      fmt::format("SELECT FROM runs WHERE id = '{}' FOR UPDATE", held_.front()->claim().id));
  append_turn(held_.front(), 1);
  ToolRecord record;
  record.turn = 1;
  record.call = {"a", "web_search", "{}"};
  record.result = "{}";
  other->commit_tool(std::move(record), "{}");
  start();
  EXPECT_TRUE(run_task(loop_, other->committed()));
  EXPECT_EQ(log_->runs_blocked(), 1);
  EXPECT_EQ(count_of("run_tool_results", other), "1");
  session.commit();
  EXPECT_TRUE(run_task(loop_, held_.front()->committed()));
  EXPECT_EQ(count_of("run_turns", held_.front()), "1");
}

// The half of the flight that can commit does, which runs_blocked does not look at.
TEST_F(HeldRow, ThatNobodyFindsDelaysItsRunAlone) {
  held_ = {owned_run()};
  fixture().column("CREATE TABLE gates (id integer); INSERT INTO gates VALUES (1)");
  fixture().column(fmt::format(
      "CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER "
      "SET search_path = public AS 'BEGIN PERFORM 1 FROM gates FOR SHARE; RETURN NEW; END';"
      "CREATE TRIGGER gate AFTER INSERT ON run_turns FOR EACH ROW WHEN (NEW.run_id = '{}') "
      "EXECUTE FUNCTION gate()",
      held_.front()->claim().id));
  expect_others_go_on("gates", [&] { append_turn(held_.front(), 1); });
  EXPECT_EQ(count_of("run_turns", held_.front()), "1");
}

TEST_F(HeldRow, IsNotWaitedForAtTheEndLongerThanFiveSeconds) {
  held_ = {owned_run()};
  RunWriterPtr other = owned_run(1);
  start();
  postgres::DbSession session = database_.as_superuser();
  session.begin();
  session.run_text(fmt::format("SELECT FROM threads WHERE id = '{}' FOR UPDATE",
                               held_.front()->claim().thread_id));
  append_end(held_.front());
  append_end(other);
  double begun = now_s();
  run_task(loop_, log_->drained());
  EXPECT_GT(now_s() - begun, 4.0);
  EXPECT_LT(now_s() - begun, 7.0);
  EXPECT_TRUE(other->has_ended());
  EXPECT_FALSE(held_.front()->has_ended());
}

using EventsInFlight = HeldRow;

TEST_F(EventsInFlight, GivesWayInADeadlock) {
  RunWriterPtr run = owned_run();
  start();
  postgres::DbSession session = database_.as_superuser();
  session.begin();
  session.run_text(fmt::format("SELECT FROM credit_accounts WHERE org_id = '{}' FOR UPDATE",
                               run->claim().org_id));
  std::thread locker([&] {
    // The wrong way round: the flight has the thread by then, and wants the account.
    postgres::DbSession watcher = database_.as_superuser();
    const char* waiting =
        "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND "
        "wait_event_type = 'Lock'";
    EXPECT_TRUE(testing_support::eventually(
        10'000, [&] { return watcher.run_text(waiting).text() == "t"; }));
    session.run_text(
        fmt::format("SELECT FROM threads WHERE id = '{}' FOR UPDATE", run->claim().thread_id));
    session.commit();
  });
  append_end(run);
  EXPECT_TRUE(run_task(loop_, run->committed()));
  locker.join();
  EXPECT_EQ(types_of(run), "1 run.completed");
}

// Each attempt is three tries at Postgres: the third of them is still a deadlock.
TEST_F(EventsInFlight, LosesNoRunInDeadlocksAgainAndAgain) {
  RunWriterPtr run = owned_run();
  RunWriterPtr other = owned_run(1);
  fixture().column(fmt::format(
      "CREATE SEQUENCE deadlocks; GRANT ALL ON SEQUENCE deadlocks TO public;"
      "CREATE FUNCTION deadlock() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN "
      "IF nextval(''public.deadlocks'') <= 10 THEN RAISE ''a deadlock'' USING ERRCODE = ''40P01'';"
      " END IF; RETURN NEW; END';"
      "CREATE TRIGGER deadlock BEFORE INSERT ON run_turns FOR EACH ROW WHEN (NEW.run_id = '{}') "
      "EXECUTE FUNCTION deadlock()",
      run->claim().id));
  start();
  append_turn(run, 1);
  append_turn(other, 1);
  EXPECT_TRUE(run_task(loop_, other->committed()));
  EXPECT_TRUE(run_task(loop_, run->committed()));
  EXPECT_EQ(fixture().column("SELECT last_value FROM deadlocks"), "11");
  EXPECT_EQ(count_of("run_turns", run), "1");
}

TEST_F(EventsInFlight, IsPartedUntilItHasTheTimeItTakes) {
  open(350);  // time for some ten of the twenty
  std::vector<RunWriterPtr> runs;
  for (size_t i = 0; i < 20; ++i) runs.push_back(owned_run(i % orgs));
  fixture().column(
      "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS "
      "'BEGIN PERFORM pg_sleep(0.03); RETURN NEW; END';"
      "CREATE TRIGGER slow BEFORE INSERT ON run_events FOR EACH ROW EXECUTE FUNCTION slow()");
  start();
  for (const RunWriterPtr& run : runs) append_turn(run, 1);
  for (const RunWriterPtr& run : runs) EXPECT_TRUE(run_task(loop_, run->committed()));
  EXPECT_GT(log_->flushes_refused(), 0);
  EXPECT_GT(log_->flushes(), 1);
  for (const RunWriterPtr& run : runs) EXPECT_EQ(types_of(run), "1 turn.completed");
}

TEST_F(EventsInFlight, HasNoMoreBytesThanItsBound) {
  RunWriterPtr first = owned_run();
  RunWriterPtr second = owned_run(1);
  RunWriterPtr third = owned_run(2);
  start();
  std::string max = fmt::format(R"("{}")", std::string(5'000'000, 'x'));
  for (const RunWriterPtr& run : {first, second, third}) run->append("tool.result", max);
  for (const RunWriterPtr& run : {first, second, third}) {
    EXPECT_TRUE(run_task(loop_, run->committed()));
  }
  EXPECT_EQ(log_->flushes(), 3);
}

}  // namespace
}  // namespace hostler::runner
