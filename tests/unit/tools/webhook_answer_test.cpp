// Tests what a server's answer to a call of a webhook tool means.
#include "runner/tools/webhook_answer.h"

#include <gtest/gtest.h>

#include <string>

#include "runner/tools/webhook_call.h"
#include "tests/support/run_task.h"
#include "tests/support/thread_cpu.h"

namespace hostler::runner {
namespace {

using testing_support::cpu_of_thread_us;
using testing_support::run_task;
using Kind = WebhookAnswer::Kind;
using Failure = http::HttpFailureKind;

http::HttpAnswer answered(int status, const std::string& body = "{}") {
  http::HttpAnswer answer;
  answer.head.status = status;
  answer.body = body;
  return answer;
}

http::HttpAnswer broke(Failure kind) {
  http::HttpAnswer answer;
  answer.failure = http::HttpFailure{kind, "names an address"};
  return answer;
}

TEST(WebhookAnswer, IsTheResultWhenItIsJson) {
  for (int status : {200, 201, 204, 299}) {
    WebhookAnswer answer = read_webhook_answer(answered(status, " {\"a\": 1.50}\n"));
    EXPECT_EQ(answer.kind, Kind::done);
    EXPECT_EQ(answer.outcome.error_code, "");
    EXPECT_EQ(answer.outcome.result, R"({"a":1.50})");
  }
  EXPECT_EQ(read_webhook_answer(answered(200, "null")).outcome.result, "null");
}

TEST(WebhookAnswer, IsATextWhenItIsNoJson) {
  struct Row {
    std::string body;
    std::string result;
  };
  const std::string deep = std::string(65, '[') + std::string(65, ']');
  for (const Row& row : {Row{"", R"("")"}, Row{"ok \"so\"", R"("ok \"so\"")"}, Row{"{", R"("{")"},
                         Row{deep, "\"" + deep + "\""}, Row{"a\xff", "\"a\uFFFD\""},
                         Row{std::string("a\0b", 3), R"("ab")"}, Row{"1 2", R"("1 2")"},
                         Row{R"({"a":1,"a":2})", R"("{\"a\":1,\"a\":2}")"}}) {
    WebhookAnswer answer = read_webhook_answer(answered(200, row.body));
    EXPECT_EQ(answer.kind, Kind::done);
    EXPECT_EQ(answer.outcome.error_code, "") << row.body;
    EXPECT_EQ(answer.outcome.result, row.result);
  }
  EXPECT_EQ(read_webhook_answer(answered(204, "")).outcome.result, R"("")");
}

TEST(WebhookAnswer, LosesACharacterThatCannotBeStored) {
  for (const char* body :
       {R"({"a":"x\u0000y"})", R"({"a":"x\ud83dy"})", "\xEF\xBB\xBF{\"a\":\"xy\"}"}) {
    EXPECT_EQ(read_webhook_answer(answered(200, body)).outcome.result, R"({"a":"xy"})") << body;
  }
}

TEST(WebhookAnswer, IsBadWhenItIsTooLong) {
  WebhookAnswer answer = read_webhook_answer(broke(Failure::too_large));
  EXPECT_EQ(answer.kind, Kind::done);
  EXPECT_EQ(answer.outcome.error_code, "tool.bad_answer");
}

// Such an array takes forty times the memory of its text.
TEST(WebhookAnswer, IsReadBesideTheLoopWhenItIsLong) {
  loop::Loop loop;
  std::string body = "[0";
  while (body.size() < webhook_answer_bytes_max - 2) body += ",0";
  http::HttpAnswer long_answer = answered(200, body + "]");
  int64_t before_us = cpu_of_thread_us();
  WebhookAnswer answer = read_webhook_answer(long_answer);
  int64_t read_us = cpu_of_thread_us() - before_us;
  EXPECT_EQ(answer.outcome.result, long_answer.body);
  {
    Task<WebhookAnswer> reading = read_webhook_answer(loop, long_answer);
    before_us = cpu_of_thread_us();
    EXPECT_FALSE(reading.start(nullptr));
    EXPECT_LT(cpu_of_thread_us() - before_us, read_us / 2);
  }
  WebhookAnswer again = run_task(loop, read_webhook_answer(loop, std::move(long_answer)));
  EXPECT_EQ(again.outcome.result, answer.outcome.result);
}

TEST(WebhookAnswer, ThatIsKeptIsTakenAsItStands) {
  ToolOutcome kept;
  kept.result = R"({"output":[1.50,"}"]})";
  EXPECT_EQ(early_outcome(early_json("c", kept)).result, kept.result);
  ToolOutcome failure =
      early_outcome(R"({"tool_call_id": "c", "error": {"code": "a", "message": "b"}})");
  EXPECT_EQ(failure.error_code + failure.error_message, "ab");
  EXPECT_EQ(early_outcome(R"({"tool_call_id":"c","output":{"error":1}})").result, R"({"error":1})");
}

TEST(WebhookAnswer, ComesLaterBehind202) {
  EXPECT_EQ(read_webhook_answer(answered(202, "whatever")).kind, Kind::accepted);
}

TEST(WebhookAnswer, IsAFailureForGoodWhenTheServerRefuses) {
  for (int status : {301, 302, 400, 404, 410, 422}) {
    WebhookAnswer answer = read_webhook_answer(answered(status));
    EXPECT_EQ(answer.kind, Kind::done) << status;
    EXPECT_EQ(answer.outcome.error_code, "tool.failed");
    EXPECT_NE(answer.outcome.error_message.find(std::to_string(status)), std::string::npos);
  }
}

TEST(WebhookAnswer, IsUnclearWhenTheServerMayHaveDoneIt) {
  for (int status : {429, 500, 503, 599}) {
    WebhookAnswer answer = read_webhook_answer(answered(status));
    EXPECT_EQ(answer.kind, Kind::unclear) << status;
    EXPECT_EQ(answer.outcome.error_code, "tool.failed");
  }
  for (Failure kind : {Failure::timeout_first_byte, Failure::timeout_idle, Failure::timeout_total,
                       Failure::reset, Failure::protocol}) {
    WebhookAnswer answer = read_webhook_answer(broke(kind));
    EXPECT_EQ(answer.kind, Kind::unclear);
    EXPECT_EQ(answer.outcome.error_code, "tool.timeout");
  }
}

// The head had come when the body broke, trickled or grew too long.
TEST(WebhookAnswer, IsDecidedByItsStatusBeforeItsBody) {
  for (Failure kind : {Failure::reset, Failure::timeout_total, Failure::too_large}) {
    auto broken = [kind](int status) {
      http::HttpAnswer answer = answered(status);
      answer.failure = http::HttpFailure{kind, "inside the body"};
      answer.head.headers.emplace_back("retry-after", "3");
      return read_webhook_answer(answer);
    };
    EXPECT_EQ(broken(202).kind, Kind::accepted);
    for (int status : {302, 404}) {
      EXPECT_EQ(broken(status).kind, Kind::done);
      EXPECT_EQ(broken(status).outcome.error_code, "tool.failed");
    }
    for (int status : {429, 503}) {
      EXPECT_EQ(broken(status).kind, Kind::unclear);
      EXPECT_EQ(broken(status).outcome.error_code, "tool.failed");
      EXPECT_EQ(broken(status).retry_after_ms, 3000);
    }
    EXPECT_EQ(broken(200).kind, kind == Failure::too_large ? Kind::done : Kind::unclear);
  }
}

TEST(WebhookAnswer, SaysWhenToComeAgain) {
  http::HttpAnswer busy = answered(429);
  busy.head.headers.emplace_back("retry-after", "3");
  EXPECT_EQ(read_webhook_answer(busy).retry_after_ms, 3000);
}

TEST(WebhookAnswer, WasNeverSentWithoutAConnection) {
  for (Failure kind : {Failure::connect, Failure::tls, Failure::timeout_connect}) {
    WebhookAnswer answer = read_webhook_answer(broke(kind));
    EXPECT_EQ(answer.kind, Kind::unsent);
    EXPECT_EQ(answer.outcome.error_code, "tool.unreachable");
    EXPECT_EQ(answer.outcome.error_message.find("names an address"), std::string::npos);
  }
}

TEST(WebhookAnswer, IsNoneOfAnAddressThatMayNotBeCalled) {
  for (Failure kind : {Failure::denied_address, Failure::bad_request}) {
    WebhookAnswer answer = read_webhook_answer(broke(kind));
    EXPECT_EQ(answer.kind, Kind::done);
    EXPECT_EQ(answer.outcome.error_code, "tool.url_denied");
  }
}

TEST(WebhookAnswer, IsUnknownOfAToolThatMustNotBeRepeated) {
  WebhookAnswer answer = read_webhook_answer(answered(503));
  EXPECT_EQ(unclear_outcome(answer, true).error_code, "tool.failed");
  EXPECT_EQ(unclear_outcome(answer, false).error_code, "tool.outcome_unknown");
}

}  // namespace
}  // namespace hostler::runner
