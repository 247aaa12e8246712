// The queue's own coroutines over a real database: an exception that leaves one ends the process,
// and notifications that never fall silent keep no run from being taken over.
#include "runner/agent/run_queue.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <stdexcept>

#include "lib/crypto.h"
#include "runner/tools/tool_box.h"
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
        services_{loop_, db_, http_, events_, secrets_, settings_, tools_},
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

}  // namespace
}  // namespace hostler::runner
