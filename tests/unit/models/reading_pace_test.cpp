// A model is read on when its observer has room, and has caught up with what it got.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>

#include "runner/models/model_client.h"
#include "tests/support/clients/turn_listener.h"
#include "tests/support/eventually.h"
#include "tests/support/peers/model_stream.h"
#include "tests/support/peers/scripted_server.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::chunk;
using testing_support::done_event;
using testing_support::eventually;
using testing_support::Peer;
using testing_support::run_task;
using testing_support::ScriptedServer;
using testing_support::stop_event;
using testing_support::stream_end;
using testing_support::stream_head;
using testing_support::text_event;
using testing_support::TurnListener;

class ReadingPaceTest : public testing::Test {
 protected:
  ReadingPaceTest() { std::signal(SIGPIPE, SIG_IGN); }

  void stream(const ScriptedServer& server, ModelObserver& observer) {
    ModelRequest request;
    request.endpoint = {ProviderKind::openai, server.url("/v1"), "sk-secret", "m", false};
    request.messages = {{ChatRole::user, "Hello there!"}};
    run_task(loop_, stream_model_turn(http_, loop_, std::move(request), turn_, observer));
  }

  loop::Loop loop_;
  http::HttpClient http_{loop_};
  ModelTurn turn_;
};

// Full once it has received anything, until it is asked for room.
class FullListener : public TurnListener {
 public:
  bool is_blocked() const override { return !received.empty() && !was_asked; }
  Task<void> has_room() override {
    was_asked = true;
    co_return;
  }
  std::atomic<bool> was_asked{false};
};

TEST_F(ReadingPaceTest, ReadsNoFurtherWhereThereIsNoRoom) {
  FullListener full;
  ScriptedServer server([&full](Peer& peer) {
    peer.read_request();
    peer.send(stream_head + chunk(text_event("Hel")));
    EXPECT_TRUE(eventually(10'000, [&full] { return full.was_asked.load(); }));
    peer.send(chunk(text_event("lo") + stop_event + done_event) + stream_end);
  });
  stream(server, full);
  EXPECT_EQ(turn_.text(), "Hello");
}

// Behind with what it received, as long as the server is not done.
class LateListener : public TurnListener {
 public:
  bool is_behind() const override { return !received.empty(); }
  Task<void> caught_up() override {
    was_asked = true;
    while (!is_done) co_await loop::sleep_ms(*loop, 1);
  }
  loop::Loop* loop = nullptr;
  std::atomic<bool> was_asked{false};
  std::atomic<bool> is_done{false};
};

TEST_F(ReadingPaceTest, ReadsAtOnceWhatCameWhileItWasBehind) {
  LateListener late;
  late.loop = &loop_;
  ScriptedServer server([&late](Peer& peer) {
    peer.read_request();
    peer.send(stream_head + chunk(text_event("Hel")));
    EXPECT_TRUE(eventually(10'000, [&late] { return late.was_asked.load(); }));
    peer.send(chunk(text_event("lo")));
    peer.send(chunk(stop_event + done_event) + stream_end);
    late.is_done = true;
    peer.wait_for_close();
  });
  stream(server, late);
  EXPECT_EQ(turn_.text(), "Hello");
  EXPECT_EQ(turn_.finish_reason, FinishReason::stop);
}

}  // namespace
}  // namespace hostler
