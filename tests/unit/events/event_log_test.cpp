// The event log over a real database: an event and the step that it tells of are one transaction,
// whether or not the log is idle when they are appended; and no run waits for another one's step.
#include "runner/events/event_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "lib/loop/task_set.h"
#include "tests/support/rows/run_fixture.h"
#include "tests/support/run_task.h"

namespace hostler::runner {
namespace {

using testing_support::run_task;
using testing_support::RunFixture;
using testing_support::TestDatabase;

class EventLogTest : public ::testing::Test {
 protected:
  EventLogTest()
      : db_(loop_, options(database_)),
        daemon_id_(fixture_.new_daemon("here")),
        log_(loop_, db_, bus_, metrics_, daemon_id_, [](const RunWriterPtr&) {}),
        tasks_(loop_, [](const std::string&, std::exception_ptr) { FAIL() << "the log broke"; }) {
    log_.set_others_alive(false);
    tasks_.add("events", log_.write_events());
    tasks_.add("steps", log_.write_steps());
  }
  static postgres::DatabaseOptions options(const TestDatabase& database) {
    postgres::DatabaseOptions options;
    options.conninfo = database.runner_url();
    return options;
  }
  RunWriterPtr owned_run() {
    Claim claim;
    claim.thread_id = fixture_.new_thread();
    claim.id = fixture_.new_run(claim.thread_id);
    claim.org_id = fixture_.org_id;
    claim.epoch = fixture_.claim(daemon_id_, claim.id);
    return log_.open(std::move(claim));
  }
  Outcome failure() {
    Outcome outcome;
    outcome.status = "failed";
    outcome.code = "model.rejected";
    outcome.message = "no";
    outcome.answer = "text";
    return outcome;
  }
  // An outcome that waits for the lock of its thread.
  void hold_an_outcome(postgres::DbSession& session) {
    session.begin();
    session.run_text(
        fmt::format("SELECT FROM threads WHERE id = '{}' FOR UPDATE", run_->claim().thread_id));
    run_->end("run.failed", "{}", failure());
  }
  Task<void> note_room(bool& has_room) {
    co_await log_.has_room();
    has_room = true;
  }
  static Task<bool> stored(RunWriterPtr run, int64_t seq) {
    while (run->committed_seq() < seq) co_await run->written().wait();
    co_return true;
  }
  std::string types_of(const RunWriterPtr& run) {
    return fixture_.column(
        fmt::format("SELECT string_agg(type, ' ' ORDER BY seq) FROM run_events WHERE run_id = '{}'",
                    run->claim().id));
  }
  // In the log's own loop, when it has nothing to do.
  void commit(const std::function<void()>& append) {
    append();
    EXPECT_TRUE(run_task(loop_, run_->committed()));
  }
  // The transaction that wrote the row.
  std::string writer(const std::string& table, const std::string& condition) {
    return fixture_.column(fmt::format("SELECT xmin FROM {} WHERE {}", table, condition));
  }
  std::string writer_of_event(const std::string& type) {
    return writer("run_events",
                  fmt::format("run_id = '{}' AND type = '{}'", run_->claim().id, type));
  }
  std::string writer_of_run() { return writer("runs", fmt::format("id = '{}'", run_->claim().id)); }
  ToolCall call(const std::string& id) { return {id, "web_search", "{}"}; }
  TurnRecord turn() {
    TurnRecord record;
    record.turn = 1;
    record.parts_json = parts_json(parts_of("hello", {{"a", "web_search", "{}"}}));
    record.usage.output_tokens = 1;
    return record;
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  loop::Loop loop_;
  postgres::Database db_;
  events::EventBus bus_;
  RunnerMetrics metrics_;
  std::string daemon_id_;
  EventLog log_;
  RunWriterPtr run_ = owned_run();
  loop::TaskSet tasks_;
};

// A next claim of the run, also by this daemon, goes on from what is on disk.
TEST_F(EventLogTest, WritesNothingThatAnAbandonedWriterStillHad) {
  commit([&] { run_->append("run.started", "{}"); });
  run_->append("turn.started", "{}");
  run_->abandon();
  RunWriterPtr other = owned_run();
  other->append("run.started", "{}");
  EXPECT_TRUE(run_task(loop_, other->committed()));
  EXPECT_EQ(types_of(run_), "run.started");
}

// If a flight has runs that are not the daemon's any more, the others are written.
TEST_F(EventLogTest, LosesTheRunsOfAFlightThatAreNoLongerItsOwn) {
  std::vector<RunWriterPtr> runs;
  for (int i = 0; i < 5; ++i) runs.push_back(owned_run());
  std::sort(runs.begin(), runs.end(), [](const RunWriterPtr& a, const RunWriterPtr& b) {
    return a->claim().id < b->claim().id;
  });
  for (int lost : {1, 4}) {
    fixture_.column(fmt::format("UPDATE runs SET owner_id = NULL WHERE id = '{}' RETURNING id",
                                runs[static_cast<size_t>(lost)]->claim().id));
  }
  for (int events : {1, 2}) {
    for (const RunWriterPtr& run : runs) {
      for (int i = 0; i < events; ++i) run->append("message.delta", "{}");
    }
    for (size_t i = 0; i < runs.size(); ++i) {
      EXPECT_EQ(run_task(loop_, runs[i]->committed()), i != 1 && i != 4) << i;
    }
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    bool is_lost = i == 1 || i == 4;
    EXPECT_EQ(types_of(runs[i]), is_lost ? "" : "message.delta message.delta message.delta") << i;
    EXPECT_EQ(runs[i]->is_fenced(), is_lost) << i;
  }
}

TEST_F(EventLogTest, EndsARunInTheTransactionOfItsTerminalEvent) {
  commit([&] { run_->append("run.started", "{}"); });
  commit([&] { run_->end("run.failed", "{}", failure()); });
  EXPECT_NE(writer_of_event("run.failed"), "");
  EXPECT_EQ(writer_of_event("run.failed"), writer_of_run());
  EXPECT_NE(writer_of_event("run.started"), writer_of_run());
}

TEST_F(EventLogTest, CommitsATurnWithTheCallsItTellsOf) {
  commit([&] { run_->append("run.started", "{}"); });
  commit([&] {
    run_->append("tool.call", "{}");
    run_->commit_turn(turn());
  });
  std::string turns = writer("run_turns", fmt::format("run_id = '{}'", run_->claim().id));
  EXPECT_NE(turns, "");
  EXPECT_EQ(writer_of_event("tool.call"), turns);
}

TEST_F(EventLogTest, KeepsNoTurnForARunThatEndsWithIt) {
  Outcome outcome;
  outcome.status = "completed";
  outcome.answer = "hello";
  commit([&] {
    run_->commit_turn(turn());
    run_->end("run.completed", "{}", outcome);
  });
  std::string id = run_->claim().id;
  auto count = [&](const std::string& table) {
    return fixture_.column(fmt::format("SELECT count(*) FROM {} WHERE run_id = '{}'", table, id));
  };
  EXPECT_EQ(count("run_turns"), "0");
  EXPECT_EQ(count("usage_records"), "1");
  EXPECT_EQ(count("messages"), "1");
  EXPECT_EQ(fixture_.column(fmt::format("SELECT turns FROM runs WHERE id = '{}'", id)), "1");
}

TEST_F(EventLogTest, CommitsAToolsResultWithItsEvent) {
  commit([&] { run_->commit_turn(turn()); });
  commit([&] {
    ToolRecord record;
    record.turn = 1;
    record.call = call("a");
    record.result = "{}";
    run_->commit_tool(std::move(record), "{}");
  });
  std::string results = writer("run_tool_results", fmt::format("run_id = '{}'", run_->claim().id));
  EXPECT_NE(results, "");
  EXPECT_EQ(writer_of_event("tool.result"), results);
}

TEST_F(EventLogTest, GivesARunUpInTheTransactionOfItsQuestion) {
  commit([&] { run_->append("run.started", "{}"); });
  commit([&] {
    WaitRecord record;
    record.request_json = R"({"request_id":"01a1fa43-8dcd-7506-ab81-ef7a33b2be1a"})";
    record.wait_seconds = 60;
    run_->wait("{}", std::move(record));
  });
  EXPECT_NE(writer_of_event("run.waiting_for_input"), "");
  EXPECT_EQ(writer_of_event("run.waiting_for_input"), writer_of_run());
  EXPECT_EQ(fixture_.column("SELECT status FROM runs"), "waiting_for_input");
}

// The run's end is in the table, and nobody else reports it.
TEST_F(EventLogTest, TellsOfACancelThatItsQuestionMet) {
  commit([&] { run_->append("run.started", "{}"); });
  fixture_.column("UPDATE runs SET cancel_requested_at = clock_timestamp() RETURNING id");
  bus_.on_updates([] {});
  bus_.follow(run_->claim().id);
  commit([&] {
    WaitRecord record;
    record.request_json = R"({"request_id":"01a1fa43-8dcd-7506-ab81-ef7a33b2be1a"})";
    record.wait_seconds = 60;
    run_->wait("{}", std::move(record));
  });
  EXPECT_EQ(types_of(run_), "run.started run.waiting_for_input run.cancelled");
  EXPECT_EQ(bus_.take().changed, std::vector<std::string>{run_->claim().id});
}

TEST_F(EventLogTest, WritesEventsWhileTheStepOfAnotherRunWaits) {
  RunWriterPtr other = owned_run();
  postgres::DbSession session = database_.as_superuser();
  hold_an_outcome(session);
  other->append("run.started", "{}");
  EXPECT_TRUE(run_task(loop_, other->committed()));
  EXPECT_EQ(writer_of_event("run.failed"), "");
  session.commit();
  EXPECT_TRUE(run_task(loop_, run_->committed()));
  EXPECT_EQ(writer_of_event("run.failed"), writer_of_run());
}

TEST_F(EventLogTest, LetsDeltasGoAheadOfAStepThatMustWait) {
  RunWriterPtr other = owned_run();
  postgres::DbSession session = database_.as_superuser();
  hold_an_outcome(session);
  other->append_delta("", "hel");
  other->end("run.failed", "{}", failure());
  EXPECT_TRUE(run_task(loop_, stored(other, 1)));
  EXPECT_EQ(types_of(other), "message.delta");
  EXPECT_FALSE(other->has_ended());
  session.commit();
  EXPECT_TRUE(run_task(loop_, other->committed()));
  EXPECT_EQ(types_of(other), "message.delta run.failed");
  EXPECT_TRUE(run_task(loop_, run_->committed()));
  EXPECT_EQ(types_of(run_), "run.failed");
}

// After a failover: the standby had everything, or was behind.
TEST_F(EventLogTest, GoesOnWhereAnotherServerHasAllThatWasWritten) {
  commit([&] { run_->append("run.started", "{}"); });
  int64_t server = run_->server();
  EXPECT_NE(server, 0);
  run_->set_server(1);
  commit([&] { run_->append_delta("", "hello"); });
  EXPECT_EQ(run_->server(), server);
  EXPECT_EQ(types_of(run_), "run.started message.delta");
}

TEST_F(EventLogTest, GivesARunUpOfWhichAnotherServerHasLess) {
  RunWriterPtr whole = owned_run();
  for (const RunWriterPtr& run : {run_, whole}) {
    run->append("run.started", "{}");
    EXPECT_TRUE(run_task(loop_, run->committed()));
    run->append_delta("", "hello");
    EXPECT_TRUE(run_task(loop_, run->committed()));
  }
  fixture_.column(fmt::format("DELETE FROM run_events WHERE run_id = '{}' AND seq = 2 RETURNING 1",
                              run_->claim().id));
  for (const RunWriterPtr& run : {run_, whole}) {
    run->set_server(1);
    run->append("tool.call", "{}");
    run->commit_turn(turn());
  }
  EXPECT_FALSE(run_task(loop_, run_->committed())) << "its seq has a gap";
  EXPECT_TRUE(run_task(loop_, whole->committed()));
  EXPECT_EQ(types_of(run_), "run.started");
  EXPECT_EQ(types_of(whole), "run.started message.delta tool.call");
  std::string about = fmt::format("FROM runs WHERE id = '{}'", run_->claim().id);
  EXPECT_EQ(fixture_.column("SELECT concat_ws(' ', owner_id, last_seq, turns, take_overs, "
                            "crash_count) " +
                            about),
            "1 0 1 0");
}

Task<void> note_caught_up(RunWriterPtr run, bool& has_caught_up) {
  co_await run->caught_up();
  has_caught_up = true;
}

// A model is read on when what it said is stored; or in the end, when that takes its time.
TEST_F(EventLogTest, CatchesUpWithItsNextFlush) {
  EXPECT_FALSE(run_->is_behind());
  bool has_caught_up = false;
  run_->append_delta("", "a word");
  EXPECT_TRUE(run_->is_behind());
  tasks_.add("waits", note_caught_up(run_, has_caught_up));
  EXPECT_TRUE(run_task(loop_, run_->committed()));
  EXPECT_TRUE(has_caught_up);
  EXPECT_FALSE(run_->is_behind());

  postgres::DbSession session = database_.as_runner();
  session.begin();
  session.run_text(fmt::format("SELECT FROM runs WHERE id = '{}' FOR UPDATE", run_->claim().id));
  run_->append_delta("", "another");
  run_task(loop_, run_->caught_up());
  EXPECT_TRUE(run_->is_behind());
  session.rollback();
  EXPECT_TRUE(run_task(loop_, run_->committed()));
}

// Events gather while none can be stored: models are not read further until there is room again.
TEST_F(EventLogTest, IsFullWhileTooMuchIsNotStored) {
  RunWriterPtr fenced = owned_run();
  fenced->append("message.delta", std::string(EventLog::pending_bytes_max, ' '));
  EXPECT_FALSE(log_.is_full());
  run_->append("run.started", "{}");
  EXPECT_TRUE(log_.is_full());
  bool has_room = false;
  tasks_.add("waits", note_room(has_room));
  EXPECT_FALSE(has_room);
  log_.fence(fenced);
  run_task(loop_, run_->committed());
  EXPECT_TRUE(has_room);
  EXPECT_EQ(log_.pending_bytes(), 0);

  // Also of a writer that is abandoned with what it had, and of deltas that go ahead.
  RunWriterPtr abandoned = owned_run();
  abandoned->append("run.started", "{}");
  abandoned->abandon();
  abandoned->drop();
  commit([&] {
    run_->append_delta("", "a word");
    run_->append("turn.started", "{}");
  });
  EXPECT_EQ(log_.pending_bytes(), 0);
}

// A writer to the server that it knows asks nothing: the statement itself refuses another.
TEST_F(EventLogTest, IsRefusedByAServerThatItDoesNotKnow) {
  commit([&] { run_->append("run.started", "{}"); });
  postgres::DbSession session = database_.as_runner();
  EXPECT_THROW(session.run_text("SELECT server_is(1)"), Error);
  EXPECT_EQ(session.run_text(fmt::format("SELECT server_is({})", run_->server())).text(), "t");
}

}  // namespace
}  // namespace hostler::runner
