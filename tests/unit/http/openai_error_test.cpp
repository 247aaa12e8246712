// Errors as OpenAI's clients know them, and the paths that have them: lib/http/openai_error.h.
#include "lib/http/openai_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/json.h"

namespace hostler::http {
namespace {

using testing::Contains;
using testing::Not;
using testing::Pair;

Json error_of(const Error& error) {
  Json body = parse_json_or_nothing(openai_error_text(error)).value_or(Json());
  const Json* inner = body.find("error");
  EXPECT_TRUE(inner != nullptr && body.as_object()->size() == 1) << body.dump();
  return inner == nullptr ? Json() : *inner;
}

TEST(OpenAiError, HasFourMembersAndOurCode) {
  Json error = error_of(Error(ErrorCode::runs_not_waiting, "It has ended \"early\"."));
  EXPECT_EQ(error.dump(), R"({"message":"It has ended \"early\".","type":"invalid_request_error",)"
                          R"("param":null,"code":"runs.not_waiting"})");
  EXPECT_EQ(error_of(Error(ErrorCode::auth_token_expired)).text_or("message"),
            error_row(ErrorCode::auth_token_expired).title)
      << "without a detail the title serves";
}

TEST(OpenAiError, CallsThingsWhatTheClientCallsThem) {
  EXPECT_EQ(error_of(Error(ErrorCode::runs_not_found)).text_or("message"),
            "The response does not exist.");
  EXPECT_EQ(error_of(Error(ErrorCode::threads_not_found)).text_or("message"),
            "The conversation does not exist.");
  Error elsewhere(ErrorCode::runs_not_found, "Another organization of yours has it.");
  elsewhere.faults.push_back({"previous_response_id", "unknown", "is unknown"});
  EXPECT_EQ(error_of(elsewhere).text_or("message"), elsewhere.detail);
  EXPECT_EQ(error_of(elsewhere).text_or("param"), "previous_response_id");
  EXPECT_EQ(error_of(elsewhere).text_or("code"), "runs.not_found");
  Error token(ErrorCode::auth_missing_token, "Send the access token of a login.");
  EXPECT_NE(error_of(token).text_or("message").find("an API key"), std::string_view::npos);
}

TEST(OpenAiError, SaysAsItsTypeWhatClientsKnow) {
  auto type = [](ErrorCode code) { return std::string(error_of(Error(code)).text_or("type")); };
  EXPECT_EQ(type(ErrorCode::auth_invalid_api_key), "authentication_error");
  EXPECT_EQ(type(ErrorCode::auth_forbidden), "permission_error");
  EXPECT_EQ(type(ErrorCode::http_not_found), "not_found_error");
  EXPECT_EQ(type(ErrorCode::rate_limit_exceeded), "rate_limit_error");
  EXPECT_EQ(type(ErrorCode::http_request_too_large), "invalid_request_error");
  EXPECT_EQ(type(ErrorCode::internal_error), "server_error");
  EXPECT_EQ(type(ErrorCode::database_unavailable), "server_error");
}

TEST(OpenAiError, NamesTheFirstMemberAtFault) {
  Error error =
      Error::validation({{"messages.0.role", "required", "is required"}, {"n", "x", "y"}});
  EXPECT_EQ(error_of(error).text_or("param"), "messages.0.role");
  EXPECT_EQ(error_of(error).text_or("code"), "validation.error");
  EXPECT_EQ(openai_status(error), 400);
  Error unsupported = Error::validation("n", std::string(unsupported_parameter), "only 1");
  EXPECT_EQ(error_of(unsupported).text_or("code"), "unsupported_parameter");
  EXPECT_EQ(error_of(unsupported).text_or("param"), "n");
}

TEST(OpenAiError, TellsOfAnUnknownModelInItsWords) {
  for (ErrorCode code : {ErrorCode::runs_unknown_persona, ErrorCode::runs_unknown_route}) {
    Error error(code);
    error.faults.push_back({"persona_id", "unknown", "is unknown"});
    EXPECT_EQ(openai_status(error), 404);
    EXPECT_EQ(error_of(error).text_or("code"), "model_not_found");
    EXPECT_EQ(error_of(error).text_or("type"), "not_found_error");
    EXPECT_EQ(error_of(error).text_or("param"), "model");
    EXPECT_NE(error_of(error).text_or("message").find("/v1/openai/models"), std::string::npos);
  }
}

TEST(OpenAiError, TellsOfCreditsInItsWordsAndNotToRepeat) {
  Error error(ErrorCode::credits_insufficient);
  EXPECT_EQ(openai_status(error), 429);
  EXPECT_EQ(error_of(error).text_or("code"), "insufficient_quota");
  EXPECT_EQ(error_of(error).text_or("type"), "insufficient_quota");
  EXPECT_TRUE(error_of(error).find("param")->is_null());
  EXPECT_THAT(openai_error_headers(error), Contains(Pair("x-should-retry", "false")));
  EXPECT_THAT(openai_error_headers(Error(ErrorCode::idempotency_in_progress)),
              Contains(Pair("x-should-retry", "false")));
  Error busy(ErrorCode::rate_limit_exceeded);
  busy.retry_after_s = 3;
  EXPECT_THAT(openai_error_headers(busy), Contains(Pair("Retry-After", "3")));
  EXPECT_THAT(openai_error_headers(busy), Not(Contains(Pair("x-should-retry", "false"))));
}

TEST(OpenAiError, HasTheNativeStatusButNo422) {
  for (size_t i = 0; i < static_cast<size_t>(ErrorCode::count_); ++i) {
    Error error(static_cast<ErrorCode>(i));
    bool has_own = openai_code(error) != error_row(error.code).name;
    EXPECT_NE(openai_status(error), 422) << openai_code(error);
    if (has_own || error.status() == 422) continue;
    EXPECT_EQ(openai_status(error), error.status()) << openai_code(error);
  }
}

TEST(OpenAiError, NeverShowsTheCause) {
  Error error(ErrorCode::internal_error, {}, "password=hunter2");
  EXPECT_EQ(openai_error_text(error).find("hunter2"), std::string::npos);
}

TEST(OpenAiPath, IsWhatStandsBelowOne) {
  for (const char* uri : {"/v1/openai", "/v1/openai/", "/v1/openai?a=b", "/v1/openai/v1/models"}) {
    EXPECT_TRUE(is_openai_path(std::string_view(uri))) << uri;
    Target target;
    parse_target(uri, target);
    EXPECT_TRUE(is_openai_path(target)) << uri;
  }
  for (const char* uri : {"/", "/v1", "/v1/openais", "/v1/models", "/v2/openai/models"}) {
    EXPECT_FALSE(is_openai_path(std::string_view(uri))) << uri;
    Target target;
    parse_target(uri, target);
    EXPECT_FALSE(is_openai_path(target)) << uri;
  }
  Target escaped;
  parse_target("/v1/%6fpenai/models", escaped);
  EXPECT_TRUE(is_openai_path(escaped));
}

std::string mended(std::string_view uri) {
  Target target;
  parse_target(uri, target);
  mend_openai_path(target);
  std::string path;
  for (size_t i = 0; i < target.segment_count; ++i) {
    path += "/" + std::string(target.segments[i]);
  }
  return path;
}

TEST(OpenAiPath, MayHaveTheVersionTwice) {
  EXPECT_EQ(mended("/v1/openai/v1/models/a"), "/v1/openai/models/a");
  EXPECT_EQ(mended("/v1/openai/v1"), "/v1/openai");
  EXPECT_EQ(mended("/v1/openai/models/v1"), "/v1/openai/models/v1");
  EXPECT_EQ(mended("/v1/openai/v1/v1/models"), "/v1/openai/v1/models");
  EXPECT_EQ(mended("/v1/openai"), "/v1/openai");
}

TEST(OpenAiPath, MayHaveSlashesOfABaseAddress) {
  EXPECT_EQ(mended("/v1/openai//chat/completions"), "/v1/openai/chat/completions");
  EXPECT_EQ(mended("/v1/openai///models//a"), "/v1/openai/models/a");
  EXPECT_EQ(mended("/v1/openai//v1//models"), "/v1/openai/models");
  EXPECT_EQ(mended("/v1/openai/models/"), "/v1/openai/models/");
  EXPECT_EQ(mended("/v1/openai/"), "/v1/openai/");
}

}  // namespace
}  // namespace hostler::http
