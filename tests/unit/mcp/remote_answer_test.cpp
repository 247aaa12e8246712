// Answers of MCP servers that answer nothing: the call was heard, and its server said something.
#include <gtest/gtest.h>

#include "runner/mcp/remote_call.h"
#include "runner/mcp/rpc_exchange.h"
#include "tests/support/rigs/tool_fixture.h"

namespace hostler::runner {
namespace {

using testing_support::http_answer;
using testing_support::KeepingPeer;
using testing_support::run_task;

class RemoteAnswer : public testing::Test {
 protected:
  RpcAnswer answer_of(std::string_view type, std::string_view body) {
    KeepingPeer peer(http_answer("200", type, body));
    return answer_at(peer.url("/mcp"));
  }
  RpcAnswer answer_at(const std::string& url) {
    OAuthServices services{fixture_.loop(), fixture_.db(), fixture_.http(), fixture_.secrets(),
                           settings_};
    RpcTarget target;
    target.url = url;
    target.limit_ms = 5000;
    target.answer_bytes_max = 1000;
    RpcMessage message;
    message.method = "tools/call";
    message.id = "1";
    return run_task(fixture_.loop(), exchange_rpc(services, target, Speech(), message, nullptr));
  }

  static std::string code_of(const RpcAnswer& answer) {
    SessionAnswer sent;
    sent.answer = answer;
    return outcome_of_failure(std::move(sent)).code;
  }

  testing_support::ToolFixture fixture_;
  config::LiveSettings settings_{fixture_.settings()};
};

TEST_F(RemoteAnswer, ThatAnswersNothingIsABadOne) {
  std::string long_one = "\"" + std::string(2000, 'x') + "\"";
  for (const std::string& body : {std::string("<html>"), std::string("{}"), long_one}) {
    RpcAnswer answer = answer_of("application/json", body);
    EXPECT_EQ(answer.kind, RpcAnswer::Kind::failed) << body;
    EXPECT_EQ(code_of(answer), "tool.bad_answer") << body;
  }
  EXPECT_EQ(code_of(answer_of("text/event-stream", "data: " + long_one + "\n\n")),
            "tool.bad_answer");
}

TEST_F(RemoteAnswer, ThatLeadsElsewhereSaysWhere) {
  KeepingPeer peer(
      "HTTP/1.1 307 X\r\nLocation: https://m.example/mcp/\r\nContent-Length: 0\r\n"
      "Connection: close\r\n\r\n");
  RpcAnswer answer = answer_at(peer.url("/mcp"));
  EXPECT_EQ(answer.kind, RpcAnswer::Kind::status);
  EXPECT_EQ(answer.message,
            "The server answered 307: it leads to https://m.example/mcp/, another origin. "
            "Redirects are not followed: if you trust that address, make it the url of the "
            "server.");
}

TEST_F(RemoteAnswer, ThatBreaksOffLeavesOpenWhatHappened) {
  EXPECT_EQ(code_of(answer_of("text/event-stream", ": soon\n\n")), "tool.outcome_unknown");
}

// The beginning of a session is not a call: nothing was sent, so it may be tried again.
TEST_F(RemoteAnswer, BeforeTheCallItselfIsNoEndOfIt) {
  RpcAnswer answer = answer_of("application/json", "<html>");
  answer.was_heard = false;
  EXPECT_EQ(code_of(answer), "tool.unreachable");
}

}  // namespace
}  // namespace hostler::runner
