// Conversations of megabytes, at a model that takes its time: the daemon sends few at once of one
// organization, and everything else goes on.
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/peers/model_stream.h"
#include "tests/support/peers/scripted_server.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

// The value of runner/agent/agent_services.h.
constexpr int of_one_org_max = 4;

// Answers what is short at once, and what is long when it is let go.
class SlowModel {
 public:
  ~SlowModel() { let_go(); }
  std::string url() const { return server_.url(""); }
  int held() {
    std::lock_guard<std::mutex> lock(mutex_);
    return held_;
  }
  int held_most() {
    std::lock_guard<std::mutex> lock(mutex_);
    return held_most_;
  }
  void let_go() {
    std::lock_guard<std::mutex> lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }

 private:
  void serve(Peer& peer) {
    for (std::string request = peer.read_request(); !request.empty();
         request = peer.read_request()) {
      if (request.size() > size_t{1} << 20) hold();
      peer.answer(text_event("done") + stop_event + done_event,
                  "Content-Type: text/event-stream\r\n");
    }
  }
  void hold() {
    std::unique_lock<std::mutex> lock(mutex_);
    held_most_ = std::max(held_most_, ++held_);
    changed_.wait(lock, [this] { return is_open_; });
    --held_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
  int held_ = 0;
  int held_most_ = 0;
  ScriptedServer server_{[this](Peer& peer) { serve(peer); }};
};

TEST(LongTurns, OfOneOrganizationAreSentAFewAtOnce) {
  ApiStack stack{ApiStackOptions{{}, true}};
  SlowModel model;
  add_fake_model(stack, "", model.url());
  TestUser user = register_user(stack);
  std::vector<std::string> run_ids;
  for (int i = 0; i < of_one_org_max + 2; ++i) {
    std::string thread_id = make_thread(user.client);
    stack.sql().run_text(
        fmt::format("INSERT INTO messages (org_id, thread_id, created_by_user_id, role, content) "
                    "SELECT org_id, id, created_by_user_id, 'user', repeat('x', 65536) "
                    "FROM threads, generate_series(1, 64) WHERE id = '{}'",
                    thread_id));
    run_ids.push_back(start_run(user.client, thread_id));
  }
  ASSERT_TRUE(eventually(15'000, [&] { return model.held() == of_one_org_max; }));
  EXPECT_EQ(run_story(user.client, "short").status, "completed") << "nobody short waits for them";
  EXPECT_EQ(model.held(), of_one_org_max);
  model.let_go();
  for (const std::string& run_id : run_ids) {
    EXPECT_EQ(wait_for_status(user.client, run_id, "completed"), "completed");
  }
  EXPECT_LE(model.held_most(), of_one_org_max);
}

}  // namespace
}  // namespace hostler::testing_support
