// Faults of a turn, as the chain of routes and the circuit breaker see them: whether another
// provider may answer, and whether this one is down. And which silences are failures.
#include <gtest/gtest.h>

#include <csignal>

#include "runner/models/model_client.h"
#include "tests/support/clients/turn_listener.h"
#include "tests/support/peers/model_stream.h"
#include "tests/support/peers/scripted_server.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::chunk;
using testing_support::done_event;
using testing_support::Peer;
using testing_support::run_task;
using testing_support::ScriptedServer;
using testing_support::stop_event;
using testing_support::stream_end;
using testing_support::stream_head;
using testing_support::text_event;
using testing_support::TurnListener;

class RouteFaults : public testing::Test {
 protected:
  RouteFaults() {
    std::signal(SIGPIPE, SIG_IGN);
    timing_.tries_max = 1;
    timing_.ignores_comments = true;
    timing_.keeps_broken_calls = false;
  }
  std::optional<ModelFailure> ask(int port, ModelTimeouts timeouts = {}) {
    ModelRequest request;
    std::string url = "http://127.0.0.1:" + std::to_string(port) + "/v1";
    request.endpoint = {ProviderKind::openai, url, "sk-secret", "m", false};
    request.messages = {{ChatRole::user, "Hello there!"}};
    request.timeouts = timeouts;
    return run_task(loop_,
                    try_model_turn(http_, loop_, std::move(request), turn_, listener_, timing_));
  }
  std::optional<ModelFailure> ask(const std::function<void(Peer&)>& script,
                                  ModelTimeouts timeouts = {}) {
    ScriptedServer server(script);
    return ask(server.port(), timeouts);
  }
  // "reason: provider, outage".
  std::string fault_of(const std::string& bytes) {
    std::optional<ModelFailure> failure = ask([&](Peer& peer) {
      peer.read_request();
      peer.send(bytes);
    });
    if (!failure) return "answered";
    return failure->reason + ":" + (failure->is_of_provider ? " provider" : "") +
           (failure->is_outage ? " outage" : "");
  }
  static std::string refused(int status) {
    return "HTTP/1.1 " + std::to_string(status) + " No\r\nContent-Length: 0\r\n\r\n";
  }
  static ModelTimeouts quick() { return {.first_byte_ms = 500, .idle_ms = 1000}; }

  loop::Loop loop_;
  http::HttpClient http_{loop_, {}};
  ModelTurn turn_;
  TurnListener listener_;
  RetryTiming timing_;
};

TEST_F(RouteFaults, SayWhetherAnotherProviderMayAnswer) {
  for (int status : {500, 502, 503, 504, 529}) {
    EXPECT_EQ(fault_of(refused(status)), "http_" + std::to_string(status) + ": provider outage");
  }
  for (int status : {408, 429}) {
    EXPECT_EQ(fault_of(refused(status)), "http_" + std::to_string(status) + ": provider");
  }
  for (int status : {400, 401, 403, 404, 422}) {
    EXPECT_EQ(fault_of(refused(status)), "http_" + std::to_string(status) + ":");
  }
  EXPECT_EQ(fault_of("garbage"), "protocol: provider");
  EXPECT_EQ(fault_of(stream_head + chunk("data: {\"choices\":[{\"ind\n\n") + stream_end),
            "bad_response: provider");
  EXPECT_EQ(fault_of(stream_head + chunk(text_event("half"))), "reset: provider outage");
  EXPECT_EQ(fault_of(stream_head + chunk(text_event("half")) + stream_end),
            "broken_off: provider outage");
  EXPECT_EQ(
      fault_of(stream_head + chunk(text_event("whole") + stop_event + done_event) + stream_end),
      "answered");
}

TEST_F(RouteFaults, SayThatNobodyIsThere) {
  int port = 0;
  {
    port = ScriptedServer([](Peer&) {}).port();
  }
  std::optional<ModelFailure> failure = ask(port);
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->reason, "connect");
  EXPECT_TRUE(failure->is_of_provider && failure->is_outage);
}

TEST_F(RouteFaults, TakeCommentsForSilence) {
  auto commenting_after = [this](const std::string& begin) {
    std::optional<ModelFailure> failure = ask(
        [&](Peer& peer) {
          peer.read_request();
          peer.send(stream_head + begin);
          while (peer.send(chunk(": ping\n\n"))) peer.pause(20);
        },
        quick());
    return failure ? failure->reason : "";
  };
  EXPECT_EQ(commenting_after(""), "timeout_first_byte");
  EXPECT_EQ(commenting_after(chunk(text_event("half"))), "timeout_idle");
  EXPECT_EQ(turn_.text(), "half");
}

TEST_F(RouteFaults, LetASlowAnswerEnd) {
  std::optional<ModelFailure> failure = ask(
      [&](Peer& peer) {
        peer.read_request();
        peer.send(stream_head);
        for (int i = 0; i < 8; ++i) {
          peer.send(chunk(text_event("x")));
          peer.pause(200);
        }
        peer.send(chunk(stop_event + done_event) + stream_end);
      },
      quick());
  EXPECT_FALSE(failure.has_value());
  EXPECT_EQ(turn_.text(), "xxxxxxxx");
}

}  // namespace
}  // namespace hostler
