// Tests what every answer below /v1/openai has, whatever is asked for: errors in OpenAI's envelope,
// and the trace id as its clients look for it. What each route refuses is in every_route_test.cpp.
#include <gtest/gtest.h>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

// All of an error.
void expect_envelope(const Answer& answer, int status, std::string_view code,
                     std::string_view type) {
  EXPECT_TRUE(is_problem(answer, status, code));
  EXPECT_EQ(answer.header("content-type"), "application/json");
  EXPECT_EQ(answer.header("x-request-id"), answer.header("x-trace-id"));
  Json body = answer.json();
  ASSERT_EQ(body.as_object()->size(), 1u) << answer.body;
  const Json& error = *body.find("error");
  ASSERT_EQ(error.as_object()->size(), 4u) << answer.body;
  EXPECT_FALSE(error.text_or("message").empty());
  EXPECT_EQ(error.text_or("type"), type);
  EXPECT_TRUE(error.find("param")->is_null());
}

TEST(OpenAiErrors, AreOfThisFormWhereThereIsNoRoute) {
  for (const char* path : {"/v1/openai", "/v1/openai/nothing", "/v1/openai/v1", "/v1/openai?a=b",
                           "/v1/openai/v1/nothing", "/v1/%6fpenai/nothing"}) {
    SCOPED_TRACE(path);
    expect_envelope(stack().client().get(path), 404, "http.not_found", "not_found_error");
  }
}

TEST(OpenAiErrors, AreOfThisFormWhereThePathDoesNotDecode) {
  expect_envelope(stack().client().get("/v1/openai/%ff"), 400, "http.bad_request",
                  "invalid_request_error");
}

// A user of a client of this form has a key.
TEST(OpenAiErrors, AskForAnApiKey) {
  Answer answer = stack().client().get("/v1/openai/models");
  expect_envelope(answer, 401, "auth.missing_token", "authentication_error");
  EXPECT_NE(answer.body.find("an API key"), std::string::npos) << answer.body;
}

TEST(OpenAiErrors, AreProblemsEverywhereElse) {
  Answer answer = stack().client().get("/v1/openais");
  EXPECT_TRUE(is_problem(answer, 404, "http.not_found"));
  EXPECT_EQ(answer.header("content-type"), "application/problem+json");
  EXPECT_FALSE(answer.has_header("x-request-id"));
}

}  // namespace
}  // namespace hostler::testing_support
