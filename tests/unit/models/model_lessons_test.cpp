// Tests what a model client keeps of an answer that fails: calls that were begun, the tool that was
// refused, and what it learned.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>

#include <fmt/format.h>

#include "runner/models/model_client.h"
#include "runner/models/run_failure.h"
#include "tests/support/clients/turn_listener.h"
#include "tests/support/peers/model_stream.h"
#include "tests/support/peers/scripted_server.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::chunk;
using testing_support::Peer;
using testing_support::run_task;
using testing_support::ScriptedServer;
using testing_support::stream_end;
using testing_support::stream_head;
using testing_support::TurnListener;

std::string stream_of(std::string_view events) { return stream_head + chunk(events) + stream_end; }
std::string refusal(std::string_view status, std::string_view body, std::string_view fields = {}) {
  return "HTTP/1.1 " + std::string(status) +
         " No\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + std::string(fields) +
         "\r\n" + std::string(body);
}

class ModelLessons : public testing::Test {
 protected:
  ModelLessons() {
    std::signal(SIGPIPE, SIG_IGN);
    timing_.first_delay_ms = 10;
  }

  ModelRequest request_to(const ScriptedServer& server) {
    ModelRequest request;
    request.endpoint = {ProviderKind::openai, server.url("/v1"), "sk-secret", "m", false};
    request.messages = {{ChatRole::user, "Hello there!"}};
    return request;
  }
  // "ok", or the code of the failure, whose message stays in message_.
  std::string stream(ModelRequest request) {
    try {
      run_task(loop_,
               stream_model_turn(http_, loop_, std::move(request), turn_, listener_, timing_));
    } catch (const RunFailure& failure) {
      message_ = failure.message;
      return failure.code;
    }
    return "ok";
  }
  // Each request gets the next answer, the last one again and again; a text without a status line
  // breaks the connection.
  std::string stream_answers(std::vector<std::string> answers) {
    std::atomic<size_t> count{0};
    ScriptedServer server([&](Peer& peer) {
      while (!peer.read_request().empty()) {
        size_t number = std::min(count++, answers.size() - 1);
        if (answers[number].empty()) break;
        peer.send(answers[number]);
        if (!answers[number].ends_with("\r\n\r\n") &&
            answers[number].find("chunked") != std::string::npos)
          break;
      }
    });
    turn_ = ModelTurn();
    listener_ = TurnListener();
    std::string code = stream(request_to(server));
    tries_ = static_cast<int>(count);
    return code;
  }

  loop::Loop loop_;
  http::HttpClient http_{loop_};
  RetryTiming timing_;
  ModelTurn turn_;
  TurnListener listener_;
  std::string message_;
  int tries_ = 0;
};

TEST_F(ModelLessons, KeepsCallsThatABrokenConnectionCutAndNoneThatAnErrorFollows) {
  const std::string call =
      R"(data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":)"
      R"({"name":"f","arguments":"{\"a"}}]}}]})"
      "\n\n";
  EXPECT_EQ(stream_answers({stream_head + chunk(call)}), "ok");
  EXPECT_EQ(tries_, 3) << "nothing was shown";
  EXPECT_TRUE(turn_.is_broken_off);
  EXPECT_EQ(turn_.finish_reason, FinishReason::none);
  ASSERT_EQ(turn_.calls().size(), 1u);
  EXPECT_EQ(turn_.calls()[0].arguments, R"({"a)");
  EXPECT_EQ(stream_answers({stream_of(call)}), "ok") << "a stream without a reason";
  EXPECT_TRUE(turn_.is_broken_off);

  const std::string error = "data: {\"error\":{\"message\":\"exploded\"}}\n\n";
  EXPECT_EQ(stream_answers({stream_of(call + error)}), "model.unavailable");
  EXPECT_NE(message_.find("exploded"), std::string::npos) << message_;
}

TEST_F(ModelLessons, HandsBackTheToolThatAProviderRefuses) {
  const std::string body =
      R"({"error":{"message":"Invalid schema for function 'g': too deep, sk-secret"}})";
  ScriptedServer server([&](Peer& peer) {
    while (!peer.read_request().empty()) peer.send(refusal("400", body));
  });
  ModelRequest request = request_to(server);
  request.tools = {{"f", "", "{}"}, {"g", "", "{}"}};
  EXPECT_EQ(stream(request), "ok");
  ASSERT_TRUE(turn_.refused_tool);
  EXPECT_EQ(turn_.refused_tool->name, "g");
  EXPECT_NE(turn_.refused_tool->reason.find("too deep, ****"), std::string::npos);
  EXPECT_EQ(turn_.adaptations, 1);
  request.adaptations_left = 0;
  EXPECT_EQ(stream(request), "model.rejected");
}

TEST_F(ModelLessons, KnowsWhatItLearnedAlsoOfATurnThatFails) {
  ScriptedServer server([&](Peer& peer) {
    for (std::string got = peer.read_request(); !got.empty(); got = peer.read_request()) {
      const char* named = got.find("temperature") != got.npos      ? "temperature"
                          : got.find("stream_options") != got.npos ? "stream_options"
                                                                   : "model";
      peer.send(refusal("400", fmt::format(R"({{"error":"unknown argument: {}"}})", named)));
    }
  });
  ModelRequest request = request_to(server);
  request.temperature = 0.5;
  EXPECT_EQ(stream(request), "model.rejected");
  EXPECT_TRUE(turn_.traits.no_temperature);
  EXPECT_TRUE(turn_.traits.no_stream_options);
}

}  // namespace
}  // namespace hostler
