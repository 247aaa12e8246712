// One model turn against a scripted server: what is tried again and what is not, what is left after
// a break or a cancel, and the codes of failures.
#include "runner/models/model_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>

#include "runner/models/openai.h"
#include "runner/models/run_failure.h"
#include "tests/support/clients/turn_listener.h"
#include "tests/support/peers/model_stream.h"
#include "tests/support/peers/scripted_server.h"
#include "tests/support/run_task.h"
#include "tests/support/thread_cpu.h"

namespace hostler {
namespace {

using testing_support::chunk;
using testing_support::cpu_of_thread_us;
using testing_support::done_event;
using testing_support::Peer;
using testing_support::run_task;
using testing_support::ScriptedServer;
using testing_support::stop_event;
using testing_support::stream_end;
using testing_support::stream_head;
using testing_support::text_event;
using testing_support::TurnListener;

std::string stream_of(std::string_view events) { return stream_head + chunk(events) + stream_end; }
std::string refusal(std::string_view status, std::string_view body, std::string_view fields = {}) {
  return "HTTP/1.1 " + std::string(status) +
         " No\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + std::string(fields) +
         "\r\n" + std::string(body);
}

class ModelClientTest : public testing::Test {
 protected:
  ModelClientTest() {
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

TEST_F(ModelClientTest, AsksAgainWithoutATemperatureThatAModelRefuses) {
  const std::string deprecated =
      R"({"error":{"message":"`temperature` is deprecated for this model."}})";
  std::atomic<int> asked{0};
  ScriptedServer server([&](Peer& peer) {
    for (std::string got = peer.read_request(); !got.empty(); got = peer.read_request()) {
      bool is_refused = ++asked > 3 || got.find("temperature") != got.npos;
      peer.send(is_refused ? refusal("400", deprecated) : stream_of(text_event("Hi") + stop_event));
    }
  });
  ModelRequest request = request_to(server);
  request.temperature = 0.5;
  EXPECT_EQ(stream(request), "ok");
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(turn_.traits.no_temperature);
  EXPECT_TRUE(listener_.retries.empty()) << "nobody waits for it";
  request.temperature.reset();
  EXPECT_EQ(stream(request), "ok");
  EXPECT_FALSE(turn_.traits.no_temperature);
  EXPECT_EQ(stream(request), "model.rejected") << "there was none";
}

TEST_F(ModelClientTest, StreamsATurn) {
  EXPECT_EQ(
      stream_answers({stream_of(text_event("Hel") + text_event("lo") + stop_event + done_event)}),
      "ok");
  EXPECT_EQ(listener_.received, "Hel|lo|");
  EXPECT_EQ(turn_.text(), "Hello");
  EXPECT_EQ(turn_.finish_reason, FinishReason::stop);
  EXPECT_EQ(turn_.usage.input_tokens, 3);  // of 12 bytes
  EXPECT_EQ(turn_.usage.output_tokens, 2);
  EXPECT_FALSE(turn_.usage.measured);
}

TEST_F(ModelClientTest, KeepsTheConnectionAfterATurn) {
  ScriptedServer server([](Peer& peer) {
    while (!peer.read_request().empty()) {
      peer.send(stream_head + chunk(text_event("x") + stop_event + done_event));
      peer.send(stream_end);
    }
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(stream(request_to(server)), "ok");
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(ModelClientTest, EndsTheTurnAtItsLastEventAlsoWhenTheBodyGoesOn) {
  ScriptedServer server([](Peer& peer) {
    peer.read_request();
    peer.send(stream_head + chunk(text_event("x") + stop_event + done_event));
    peer.wait_for_close();
  });
  EXPECT_EQ(stream(request_to(server)), "ok");
  EXPECT_TRUE(server.wait_for_ended(1));
}

TEST_F(ModelClientTest, TriesAgainWhatMayPassAndSaysSo) {
  const std::string good = stream_of(text_event("x") + stop_event + done_event);
  for (const char* status : {"408", "409", "425", "429", "500", "502", "503", "529"}) {
    EXPECT_EQ(stream_answers({refusal(status, "{}", "Connection: close\r\n"), "", good}), "ok")
        << status;
    ASSERT_EQ(listener_.retries.size(), 2u) << status;
    EXPECT_EQ(listener_.retries[0].attempt, 2);
    EXPECT_EQ(listener_.retries[0].reason, "http_" + std::string(status));
    EXPECT_GE(listener_.retries[0].delay_ms, 8);
    EXPECT_LE(listener_.retries[0].delay_ms, 12);
    EXPECT_EQ(listener_.retries[1].attempt, 3);
    EXPECT_EQ(listener_.retries[1].reason, "reset");
    EXPECT_GE(listener_.retries[1].delay_ms, 16);
    EXPECT_LE(listener_.retries[1].delay_ms, 24);
    EXPECT_EQ(turn_.text(), "x");
  }
}

TEST_F(ModelClientTest, GivesUpAfterThreeTries) {
  EXPECT_EQ(stream_answers({refusal("429", R"({"error":{"message":"slow down"}})")}),
            "model.rate_limited");
  EXPECT_EQ(tries_, 3);
  EXPECT_NE(message_.find("slow down"), std::string::npos);
  EXPECT_EQ(stream_answers({refusal("503", "<html>secret of ours</html>")}), "model.unavailable");
  EXPECT_EQ(tries_, 3);
  EXPECT_EQ(message_, "The model provider is not available (HTTP 503).");
  EXPECT_EQ(stream_answers({stream_of("")}), "model.unavailable");
  EXPECT_EQ(tries_, 3);
  EXPECT_EQ(listener_.retries.at(0).reason, "broken_off");
}

TEST_F(ModelClientTest, DoesNotTryAgainWhatIsRefused) {
  for (const char* status : {"400", "401", "402", "403", "404", "413", "422", "302"}) {
    EXPECT_EQ(stream_answers({refusal(status, R"({"error":{"message":"no: sk-secret"}})")}),
              "model.rejected")
        << status;
    EXPECT_EQ(tries_, 1);
    EXPECT_EQ(listener_.retries.size(), 0u);
    EXPECT_EQ(message_, "The model provider refused the request (HTTP " + std::string(status) +
                            "): no: ****");
  }
}

TEST_F(ModelClientTest, KeepsRetryAfterUnlessItIsTooLong) {
  const std::string good = stream_of(stop_event);
  EXPECT_EQ(stream_answers({refusal("429", "", "Retry-After-Ms: 40\r\n"), good}), "ok");
  EXPECT_EQ(listener_.retries.at(0).delay_ms, 40);
  EXPECT_EQ(stream_answers({refusal("429", "", "Retry-After: 0\r\n"), good}), "ok");
  EXPECT_LE(listener_.retries.at(0).delay_ms, 12);
  EXPECT_EQ(stream_answers({refusal("429", "", "Retry-After: 61\r\n"), good}),
            "model.rate_limited");
  EXPECT_EQ(tries_, 1);
  EXPECT_TRUE(listener_.retries.empty());
  EXPECT_EQ(stream_answers({refusal("503", "", "Retry-After: 3600\r\n"), good}),
            "model.unavailable");
  EXPECT_EQ(tries_, 1);
}

TEST_F(ModelClientTest, NeverTriesAgainAfterTextWasShown) {
  const std::string thinking =
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"hm\"}}]}\n\n";
  const std::string busy = "data: {\"error\":{\"message\":\"busy\",\"code\":503}}\n\n";
  for (const std::string& shown : {text_event("x"), thinking}) {
    for (const std::string& end :
         {stream_of(shown), stream_head + chunk(shown), stream_of(shown + busy),
          stream_of(shown + "data: {\"choices\":[{\"ind")}) {
      std::string code = stream_answers({end});
      bool is_half = end.find("\"ind\r\n") != std::string::npos;
      EXPECT_EQ(code, is_half ? "model.bad_response" : "model.stream_broken") << end;
      EXPECT_EQ(tries_, 1);
      EXPECT_TRUE(listener_.retries.empty());
      EXPECT_EQ(turn_.text() + turn_.thinking, shown == thinking ? "hm" : "x");
      EXPECT_EQ(turn_.usage.output_tokens, 1);
      EXPECT_FALSE(turn_.usage.measured);
    }
  }
}

TEST_F(ModelClientTest, TriesAgainWhileOnlyAToolCallHadBegun) {
  const std::string call =
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\","
      "\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]}}]}\n\n";
  EXPECT_EQ(stream_answers({stream_of(call), stream_of(text_event("x") + stop_event)}), "ok");
  EXPECT_EQ(tries_, 2);
  EXPECT_TRUE(turn_.calls().empty());
}

TEST_F(ModelClientTest, TriesAgainWhenTheConnectionBrokeInsideALineOrADocument) {
  const std::string half_line = stream_head + chunk("data: {\"choices\":[{\"ind");
  const std::string half_document = stream_head + chunk("{\"choices\":[{\"ind");
  for (const std::string& half : {half_line, half_document}) {
    EXPECT_EQ(stream_answers({half, stream_of(text_event("x") + stop_event)}), "ok");
    EXPECT_EQ(listener_.retries.at(0).reason, "reset");
  }
}

TEST_F(ModelClientTest, TakesAnErrorInsideA200AsTheStatusItNames) {
  const std::string rate =
      "data: {\"error\":{\"message\":\"m\",\"type\":\"rate_limit_error\"}}\n\n";
  EXPECT_EQ(stream_answers({stream_of(rate)}), "model.rate_limited");
  EXPECT_EQ(tries_, 3);
  const std::string wrong =
      "data: {\"error\":{\"message\":\"m\",\"type\":\"invalid_request_error\"}}\n\n";
  EXPECT_EQ(stream_answers({stream_of(wrong)}), "model.rejected");
  EXPECT_EQ(tries_, 1);
  EXPECT_EQ(stream_answers({refusal("200", R"({"error":{"message":"m","code":400}})")}),
            "model.rejected");
}

TEST_F(ModelClientTest, AcceptsAWholeAnswerInsteadOfAStream) {
  EXPECT_EQ(stream_answers({refusal("200", R"( {"choices":[{"message":{"content":"whole"},)"
                                           R"("finish_reason":"stop"}]})")}),
            "ok");
  EXPECT_EQ(turn_.text(), "whole");
  EXPECT_EQ(listener_.received, "whole|");
}

TEST_F(ModelClientTest, CallsAnAnswerThatCannotBeReadBad) {
  for (const std::string& answer :
       {stream_of("data: nonsense\n\n"), stream_of("data: " + std::string(1'100'000, 'x')),
        refusal("200", "{\"half\":"), refusal("200", "{}"),
        refusal("200", "<html>", "Content-Type: text/html\r\n"), refusal("200", "[1]"),
        refusal("200", "good morning", "Content-Type: text/plain\r\n"),
        std::string("SSH-2.0-OpenSSH_9.2\r\n\r\n")}) {
    EXPECT_EQ(stream_answers({answer}), "model.bad_response") << answer.substr(0, 100);
    EXPECT_EQ(tries_, 1) << answer.substr(0, 100);
    EXPECT_LT(message_.size(), 300u);
  }
}

TEST_F(ModelClientTest, EndsAnAnswerThatIsTooLong) {
  std::string events;
  for (int i = 0; i < 70; ++i) events += text_event(std::string(64 * 1024, 'x'));
  EXPECT_EQ(stream_answers({stream_of(events)}), "run.answer_too_long");
  EXPECT_EQ(turn_.text().size(), turn_bytes_max);
}

TEST_F(ModelClientTest, LimitsTheWaitForTheFirstByteAndForSilence) {
  std::atomic<int> tries{0};
  ScriptedServer silent([&tries](Peer& peer) {
    ++tries;
    peer.read_request();
    peer.wait_for_close();
  });
  ModelRequest request = request_to(silent);
  request.timeouts.first_byte_ms = 20;
  EXPECT_EQ(stream(request), "model.unavailable");
  EXPECT_EQ(tries, 3);
  EXPECT_EQ(listener_.retries.at(0).reason, "timeout_first_byte");
  EXPECT_EQ(message_, "The model provider is not available (timeout_first_byte).");

  ScriptedServer stalls([](Peer& peer) {
    peer.read_request();
    peer.send(stream_head + chunk(text_event("x")));
    peer.wait_for_close();
  });
  request = request_to(stalls);
  request.timeouts.idle_ms = 20;
  EXPECT_EQ(stream(request), "model.stream_broken");
  EXPECT_EQ(turn_.text(), "x");
}

TEST_F(ModelClientTest, DoesNotDialWhatATenantMustNotReach) {
  testing_support::Canary canary;
  ModelRequest request;
  request.endpoint = {ProviderKind::openai, "", "sk-secret", "m", true};
  request.endpoint.base_url = "http://127.0.0.1:" + std::to_string(canary.port()) + "/v1";
  EXPECT_EQ(stream(request), "model.rejected");
  EXPECT_EQ(message_, "The model provider's address is not allowed.");
  EXPECT_FALSE(canary.was_touched());
}

Task<void> cancel_after_text(loop::Loop& loop, Task<void>& task, TurnListener& listener) {
  while (listener.received.empty()) {
    co_await loop::sleep_ms(loop, 1);
  }
  task.cancel();
}

TEST_F(ModelClientTest, LeavesTextAndUsageToTheOneWhoCancels) {
  ScriptedServer server([](Peer& peer) {
    peer.read_request();
    peer.send(stream_head + chunk(text_event("partial")));
    peer.wait_for_close();
  });
  Task<void> task = stream_model_turn(http_, loop_, request_to(server), turn_, listener_, timing_);
  EXPECT_FALSE(task.start(nullptr));
  run_task(loop_, cancel_after_text(loop_, task, listener_));
  EXPECT_TRUE(server.wait_for_ended(1)) << "the connection is closed";
  EXPECT_EQ(turn_.text(), "partial");
  EXPECT_EQ(turn_.usage.input_tokens, 3);
  EXPECT_EQ(turn_.usage.output_tokens, 2);
  EXPECT_EQ(turn_.finish_reason, FinishReason::none);
}

// In JSON it has 48 MB.
TEST_F(ModelClientTest, WritesALongConversationBesideTheLoop) {
  std::string seen;
  ScriptedServer server([&seen](Peer& peer) {
    seen = peer.read_request();
    peer.send(stream_of(text_event("ok") + stop_event + done_event));
    peer.wait_for_close();
  });
  ModelRequest request = request_to(server);
  request.messages = {{ChatRole::user, std::string(8'000'000, '\x01')}};
  int64_t before_us = cpu_of_thread_us();
  std::string body = openai_request(request).body;
  int64_t write_us = cpu_of_thread_us() - before_us;
  {
    Task<void> task = stream_model_turn(http_, loop_, request, turn_, listener_, timing_);
    before_us = cpu_of_thread_us();
    EXPECT_FALSE(task.start(nullptr));
    EXPECT_LT(cpu_of_thread_us() - before_us, write_us / 2);
  }
  EXPECT_EQ(stream(request), "ok");
  EXPECT_TRUE(seen.ends_with("\r\n\r\n" + body));
}

TEST_F(ModelClientTest, SpeaksAnthropicToo) {
  std::string seen;
  ScriptedServer server([&seen](Peer& peer) {
    seen = peer.read_request();
    peer.send(stream_of(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{"
        "\"input_tokens\":7,\"output_tokens\":1}}}\n\n"
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
        "\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n"
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
        "\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\n"
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"));
    peer.wait_for_close();
  });
  ModelRequest request = request_to(server);
  request.endpoint.provider_kind = ProviderKind::anthropic;
  request.endpoint.base_url = server.url("");
  EXPECT_EQ(stream(request), "ok");
  EXPECT_TRUE(seen.starts_with("POST /v1/messages HTTP/1.1\r\n")) << seen;
  EXPECT_NE(seen.find("\r\nx-api-key: sk-secret\r\n"), std::string::npos) << seen;
  EXPECT_EQ(turn_.text(), "hi");
  EXPECT_TRUE(turn_.usage.measured);
  EXPECT_EQ(turn_.usage.output_tokens, 9);
}

}  // namespace
}  // namespace hostler
