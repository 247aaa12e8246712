// Tests what answers of older servers say of a session, in the words of real ones.
#include "runner/mcp/session_answers.h"

#include <gtest/gtest.h>

#include "runner/mcp/wire.h"

namespace hostler::runner {
namespace {

RpcAnswer error(int status, std::string message, std::string data = {}) {
  RpcAnswer answer;
  answer.kind = RpcAnswer::Kind::error;
  answer.status = status;
  answer.message = std::move(message);
  answer.json = std::move(data);
  return answer;
}

RpcAnswer status(int status, std::string message) {
  RpcAnswer answer = error(status, std::move(message));
  answer.kind = RpcAnswer::Kind::status;
  return answer;
}

RpcAnswer result(std::string json) {
  RpcAnswer answer;
  answer.kind = RpcAnswer::Kind::result;
  answer.json = std::move(json);
  return answer;
}

TEST(SessionAnswers, NameTheNewestRevisionThatBothSpeak) {
  constexpr std::string_view offered = "2025-11-25";
  EXPECT_EQ(version_in_refusal(
                status(400,
                       "The server answered 400: Bad Request: Unsupported protocol version "
                       "(supported versions: 2024-11-05, 2025-06-18, 2025-03-26)"),
                offered),
            "2025-06-18");
  EXPECT_EQ(version_in_refusal(error(200, "Unsupported protocol version",
                                     R"({"supported":["2024-11-05"],"requested":"2025-11-25"})"),
                               offered),
            "2024-11-05");
  EXPECT_EQ(version_in_refusal(error(400, "Unsupported: 2025-11-25. Use 2026-07-28."), offered),
            modern_version);
  EXPECT_EQ(version_in_refusal(error(400, "Unsupported protocol version: 2025-11-25"), offered),
            "");
  EXPECT_EQ(version_in_refusal(error(400, "supported versions: 2023-01-01"), offered), "");
}

TEST(SessionAnswers, AgreeOnARevision) {
  EXPECT_EQ(agreed_version(result(R"({"protocolVersion":"2024-11-05"})"), "2025-11-25"),
            "2024-11-05");
  EXPECT_EQ(agreed_version(result(R"({"serverInfo":{"name":"x"}})"), "2025-11-25"), "2025-11-25");
  EXPECT_EQ(agreed_version(result("{}"), "2025-11-25"), "");
  EXPECT_EQ(agreed_version(result("null"), "2025-11-25"), "");
  EXPECT_EQ(agreed_version(error(200, "2025-11-25"), "2025-11-25"), "");
}

TEST(SessionAnswers, SayThatASessionIsOver) {
  for (const RpcAnswer& answer :
       {status(404, "The server answered 404."), error(404, "Session not found"),
        error(400, "Bad Request: No valid session ID provided"),
        error(400, "Bad Request: No valid session ID or not an initialize request"),
        error(200, "Invalid or expired session"),
        status(400, "The server answered 400: Missing session ID"),
        error(400, "Bad Request: Server not initialized"), error(410, "Session terminated")}) {
    EXPECT_TRUE(says_session_is_over(answer)) << answer.message;
  }
  for (const RpcAnswer& answer : {error(200, "Request timed out"), error(400, "Invalid params"),
                                  status(500, "session not found"), error(200, "Tool x not found"),
                                  status(401, "invalid session"), result("{}")}) {
    EXPECT_FALSE(says_session_is_over(answer)) << answer.message;
  }
}

}  // namespace
}  // namespace hostler::runner
