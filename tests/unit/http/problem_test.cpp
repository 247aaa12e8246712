// Problem documents: lib/http/problem.h.
#include "lib/http/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/http/cors.h"
#include "lib/json.h"

namespace hostler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::string trace_id() { return std::string(32, 'c'); }

Json document(const Error& error) {
  std::variant<Json, JsonFault> parsed = parse_json(http::problem_text(error, trace_id()));
  EXPECT_TRUE(std::holds_alternative<Json>(parsed));
  return std::get<Json>(parsed);
}

TEST(Problem, HasTheMembersOfTheContract) {
  Json json = document(Error(ErrorCode::runs_not_waiting, "It has ended \"early\"."));
  EXPECT_EQ(json.text_or("type"), "urn:hostler:problem:runs.not_waiting");
  EXPECT_EQ(json.text_or("title"), "The run does not wait for input");
  EXPECT_EQ(json.integer_or("status", 0), 409);
  EXPECT_EQ(json.text_or("detail"), "It has ended \"early\".");
  EXPECT_EQ(json.text_or("code"), "runs.not_waiting");
  EXPECT_EQ(json.text_or("trace_id"), trace_id());
  EXPECT_EQ(json.find("errors"), nullptr);
}

TEST(Problem, ListsEveryFault) {
  Json json = document(Error::validation({{"a", "required", "is required"}, {"b.0", "x", "y"}}));
  ASSERT_NE(json.find("errors"), nullptr);
  const Json::Array& errors = *json.find("errors")->as_array();
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[1].text_or("field"), "b.0");
  EXPECT_EQ(errors[1].text_or("code"), "x");
  EXPECT_EQ(errors[1].text_or("message"), "y");
}

TEST(Problem, NeverShowsTheCause) {
  Error error(ErrorCode::internal_error, {}, "password=hunter2");
  EXPECT_EQ(http::problem_text(error, trace_id()).find("hunter2"), std::string::npos);
}

TEST(Problem, NeverShowsWhomItRefuses) {
  const std::string org_id = "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a";
  const std::string user_id = "01a1fa43-8dcd-7506-ab81-ef7a33b2be1b";
  for (size_t i = 0; i < static_cast<size_t>(ErrorCode::count_); ++i) {
    Error error = Error::validation("a", "required", "is required");
    error.code = static_cast<ErrorCode>(i);
    error.members.emplace_back("permission", "\"org.manage\"");
    error.retry_after_s = 1;
    const std::string nobody_reported = http::problem_text(error, trace_id());
    const http::HeaderList headers_of_nobody = http::problem_headers(error);
    error.refused = Identity{"api_key", org_id, user_id};
    EXPECT_EQ(http::problem_text(error, trace_id()), nobody_reported);
    EXPECT_EQ(http::problem_headers(error), headers_of_nobody);
  }
}

TEST(Problem, HasItsOwnFurtherMembers) {
  Error error(ErrorCode::runs_thread_busy);
  error.members.emplace_back("active_run_id", "\"7\"");
  Json json = document(error);
  EXPECT_EQ(json.text_or("active_run_id"), "7");
  EXPECT_EQ(json.text_or("detail"), json.text_or("title")) << "without a detail the title serves";
}

TEST(Problem, AsksForATokenAndTellsWhenToTryAgain) {
  EXPECT_THAT(http::problem_headers(Error(ErrorCode::auth_invalid_token)),
              ElementsAre(Pair("WWW-Authenticate", "Bearer")));
  Error busy(ErrorCode::overload_busy);
  busy.retry_after_s = 3;
  EXPECT_THAT(http::problem_headers(busy), ElementsAre(Pair("Retry-After", "3")));
  EXPECT_THAT(http::problem_headers(Error(ErrorCode::http_not_found)), IsEmpty());
}

}  // namespace
}  // namespace hostler
