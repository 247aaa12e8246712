// The queue's own coroutines over a real database: an exception that leaves one ends the process,
// notifications that never fall silent keep no run from being taken over, and a run may come back
// before the loop has freed what it was.
#include "runner/agent/run_queue.h"
#include "runner/agent/model_health.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <stdexcept>

#include "lib/crypto.h"
#include "queries/runs.h"
#include "runner/agent/model_health.h"
#include "runner/agent/turn_holds.h"
#include "runner/tools/tool_box.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/child.h"
#include "tests/support/rows/run_fixture.h"
#include "tests/support/run_task.h"

namespace hostler::runner {
namespace {

using testing_support::RunFixture;
using testing_support::TestDatabase;

constexpr int64_t notify_every_ms = 5;

// A daemon without its streams, deliveries and duties.
class Queue {
 public:
  Queue(const TestDatabase& database, std::string daemon_id, std::function<int()> streams)
      : db_(loop_, options(database)),
        events_db_(loop_, options(database)),
        http_(loop_, {}),
        secrets_(std::get<config::SecretBox>(config::SecretBox::parse(random_bytes(32)))),
        settings_(lease_of_two_seconds()),
        events_(loop_, events_db_, bus_, metrics_, daemon_id,
                [this](const RunWriterPtr& writer) { queue_.on_fenced(writer); }),
        tools_(loop_, db_, http_, secrets_, settings_),
        long_turns_(loop_, long_turn_shares),
        turn_holds_(loop_, db_, settings_, daemon_id),
        model_health_(loop_, db_),
        services_{loop_,     db_,    http_,       events_,     secrets_,
                  settings_, tools_, long_turns_, turn_holds_, model_health_},
        queue_(services_, tasks_, daemon_id, {}, std::move(streams)),
        tasks_(loop_, [](const std::string&, const std::exception_ptr&) {}) {
    tasks_.add_forever("events", events_.write_events());
    tasks_.add_forever("steps", events_.write_steps());
    tasks_.add_forever("claims", queue_.claim_forever());
    tasks_.add_forever("heartbeat", queue_.heartbeat_forever());
  }

  void run_for(int64_t limit_ms) {
    loop::Timer end(loop_, [this] { loop_.stop(); });
    end.restart(limit_ms);
    loop_.run();
  }
  void notify() { queue_.look_for_runs(); }
  loop::Loop& loop() { return loop_; }
  const RunQueue& runs() const { return queue_; }

 private:
  static config::Settings lease_of_two_seconds() {
    config::Settings settings;
    settings.set(config::find_setting("run.lease_seconds"), int64_t{2},
                 config::SettingSource::environment);
    return settings;
  }
  static postgres::DatabaseOptions options(const TestDatabase& database) {
    postgres::DatabaseOptions options;
    options.conninfo = database.runner_url();
    return options;
  }
  loop::Loop loop_;
  postgres::Database db_;
  postgres::Database events_db_;
  http::HttpClient http_;
  config::SecretBox secrets_;
  config::LiveSettings settings_;
  events::EventBus bus_;
  RunnerMetrics metrics_;
  EventLog events_;
  ToolBox tools_;
  LongTurns long_turns_;
  TurnHolds turn_holds_;
  ModelHealth model_health_;
  AgentServices services_;
  RunQueue queue_;
  loop::TaskSet tasks_;  // last: its coroutines use all of the above
};

TEST(RunQueueTest, AThrowInTheHeartbeatEndsTheProcess) {
  TestDatabase database;
  RunFixture fixture(database);
  std::string daemon_id = fixture.new_daemon("here");
  auto live = [&] {
    Queue queue(database, daemon_id, []() -> int { throw std::runtime_error("no count"); });
    queue.run_for(20'000);
  };
  EXPECT_EXIT(live(), testing::ExitedWithCode(loop::exit_task_ended),
              "essential_task_ended.*heartbeat.*no count");
}

TEST(RunQueueTest, TakesRunsOverWhileNotificationsNeverStop) {
  TestDatabase database;
  RunFixture fixture(database);
  std::string dead = fixture.new_daemon("elsewhere");
  std::vector<std::string> run_ids;
  // More than one statement takes.
  for (int i = 0; i < 70; ++i) run_ids.push_back(fixture.new_run(fixture.new_thread()));
  fixture.claim(dead, run_ids.front());
  Queue queue(database, fixture.new_daemon("here"), [] { return 0; });
  loop::Timer notifications(queue.loop(), [&] {
    queue.notify();
    notifications.restart(notify_every_ms);
  });
  notifications.restart(notify_every_ms);
  queue.run_for(6'000);
  EXPECT_EQ(fixture.column("SELECT count(*) FROM runs WHERE take_overs = 1"), "70");
}

// A run whose model asked its user something, as an earlier daemon left it.
std::string new_asking_run(RunFixture& fixture) {
  std::string run_id = fixture.new_run(fixture.new_thread());
  const char* question = R"([{"type": "call", "id": "c1", "name": "ask_user", )"
                         R"("arguments": "{\"message\": \"Which?\"}"}])";
  fixture.column(
      fmt::format("WITH turned AS (INSERT INTO run_turns (run_id, org_id, turn, parts, last_seq) "
                  "VALUES ('{0}', '{1}', 1, '{2}', 0)) UPDATE runs SET turns = 1 WHERE id = '{0}' "
                  "RETURNING id",
                  run_id, fixture.org_id, question));
  return run_id;
}

// Postgres answers nothing of a run that begins to wait, nor a claim, before the test says so.
class HeldAnswers {
 public:
  HeldAnswers(const TestDatabase& database, const RunFixture& fixture, std::string run_id)
      : fixture_(fixture),
        run_id_(std::move(run_id)),
        of_wait_(database.as_superuser()),
        of_claim_(database.as_superuser()) {
    of_wait_.run_text(
        "CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "PERFORM pg_advisory_xact_lock_shared(10); RETURN NEW; END $$;"
        "CREATE TRIGGER held BEFORE UPDATE ON runs FOR EACH ROW "
        "WHEN (NEW.status = 'waiting_for_input') EXECUTE FUNCTION held();"
        "SELECT pg_advisory_lock(10)");
  }
  bool wait_is_on_its_way() const { return is_awaited("advisory"); }
  bool claim_is_on_its_way() const { return is_awaited("relation"); }
  void hold_claims() {
    of_claim_.begin();
    of_claim_.run_text("LOCK TABLE llm_providers");
  }
  // The run waits, is answered, and is claimed: both answers lie in their sockets, in this order.
  void let_go() {
    of_wait_.run_text("SELECT pg_advisory_unlock(10)");
    EXPECT_TRUE(testing_support::eventually(10'000, [&] { return run("status") == waiting; }));
    fixture_.as_owner(query::RunInput{.run_id = run_id_,
                                      .content = "blue",
                                      .limit_input_bytes = 1000,
                                      .decision = std::nullopt,
                                      .arguments = std::nullopt,
                                      .reason = std::nullopt,
                                      .fault = "neither",
                                      .json_offset = std::nullopt,
                                      .json_found = std::nullopt,
                                      .request_id = std::nullopt});
    of_claim_.commit();
    EXPECT_TRUE(testing_support::eventually(10'000, [&] { return run("owner_id") != ""; }));
  }

 private:
  static constexpr std::string_view waiting = "waiting_for_input";

  bool is_awaited(const std::string& kind) const {
    return fixture_.column(
               fmt::format("SELECT count(*) > 0 FROM pg_locks l JOIN pg_database d ON d.oid = "
                           "l.database WHERE d.datname = current_database() AND NOT l.granted AND "
                           "l.locktype = '{}'",
                           kind)) == "t";
  }
  std::string run(const std::string& column) const {
    return fixture_.column(fmt::format("SELECT {} FROM runs WHERE id = '{}'", column, run_id_));
  }

  const RunFixture& fixture_;
  std::string run_id_;
  postgres::DbSession of_wait_;
  postgres::DbSession of_claim_;
};

TEST(RunQueueTest, TakesARunAgainInTheTurnOfTheLoopInWhichItBeganToWait) {
  TestDatabase database;
  RunFixture fixture(database);
  std::string run_id = new_asking_run(fixture);
  HeldAnswers held(database, fixture, run_id);
  Queue queue(database, fixture.new_daemon("here"), [] { return 0; });
  enum class Next { hold, see_claim, let_go, see_run } next = Next::hold;
  // The turn between the last two leaves both sockets empty, so that they are read as they fill.
  loop::Timer turns(queue.loop(), [&] {
    turns.restart(notify_every_ms);
    if (next == Next::hold && held.wait_is_on_its_way()) {
      held.hold_claims();
      queue.notify();
      next = Next::see_claim;
    } else if (next == Next::see_claim && held.claim_is_on_its_way()) {
      next = Next::let_go;
    } else if (next == Next::let_go) {
      held.let_go();
      next = Next::see_run;
    } else if (next == Next::see_run && queue.runs().claimed() == 2) {
      queue.loop().stop();
    }
  });
  turns.restart(notify_every_ms);
  queue.run_for(20'000);
  EXPECT_EQ(queue.runs().claimed(), 2);
  EXPECT_EQ(queue.runs().active(), 1) << "it goes on";
}

}  // namespace
}  // namespace hostler::runner
