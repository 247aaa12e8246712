// Parameters, addresses and tokens read; answers and their header fields written.
#include "fcgi/http/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fcgi/http/response.h"
#include "fcgi/response_head.h"
#include "lib/crypto.h"
#include "lib/http/query_bound.h"
#include "tests/support/test_request.h"

namespace hostler {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_support::TestRequest;

std::string refusal_of(const std::string& uri) {
  try {
    http::Target target;
    http::parse_target(uri, target);
  } catch (const Error& error) {
    return std::string(error_row(error.code).name);
  }
  return "none";
}

TEST(Target, IsRefusedWhenItIsNoText) {
  for (const char* uri : {"", "x", "http://a/", "/%", "/%4", "/%zz", "/%00", "/%C3", "/\xFF",
                          "/a?b=%", "/a?b=%00", "/a?%C3=1", "/%ED%A0%80"}) {
    EXPECT_EQ(refusal_of(uri), "http.bad_request") << uri;
  }
  for (const char* uri : {"/", "/%C3%A9", "/a?b=%F0%9F%98%80", "/a?", "/a?&&", "/a%2Fb"}) {
    EXPECT_EQ(refusal_of(uri), "none") << uri;
  }
}

TEST(Target, IsDecodedOnce) {
  http::Target target;
  std::string uri = "/a%2541/b+c/%2F?q=1%2B1+x&empty&=v";
  http::parse_target(uri, target);
  ASSERT_EQ(target.segment_count, 3u);
  EXPECT_EQ(target.segments[0], "a%41");
  EXPECT_EQ(target.segments[1], "b+c") << "a plus is a space in queries only";
  EXPECT_EQ(target.segments[2], "/");
  ASSERT_EQ(target.query.size(), 3u);
  EXPECT_EQ(target.query[0].second, "1+1 x");
  EXPECT_EQ(*target.query_value("empty"), "");
}

TEST(Target, HasAtMostSixtyFourParameters) {
  std::string uri = "/a?a0";
  for (int i = 1; i < 64; ++i) uri += "&&a" + std::to_string(i) + "=1";
  http::Target target;
  http::parse_target(uri, target);
  EXPECT_FALSE(http::query_fault(target));
  EXPECT_EQ(target.query.size(), 64u);
  std::string too_many = uri + "&a64" + std::string(100'000, '&') + "&a65&%zz";
  http::Target cut;
  http::parse_target(too_many, cut);
  ASSERT_TRUE(http::query_fault(cut));
  EXPECT_EQ(http::query_fault(cut)->code, ErrorCode::http_bad_query);
  EXPECT_EQ(cut.query.size(), 65u) << "what is behind it is not read";
}

constexpr std::string_view some_trace_id = "0af7651916cd43dd8448eb211c80319c";

Answered answered(Response response) {
  Answered whole;
  whole.response = std::move(response);
  whole.trace_id = some_trace_id;
  return whole;
}

TEST(Request, TakesTheTraceIdOfNginxAndMakesOneOtherwise) {
  std::string given(32, 'a');
  EXPECT_EQ(TestRequest("GET", "/", {{"TRACE_ID", given}})->trace_id, given);
  std::string made = TestRequest("GET", "/", {{"TRACE_ID", "x\r\nEvil: 1"}})->trace_id;
  EXPECT_EQ(made.size(), 32u);
  EXPECT_NE(made, given);
}

TEST(Request, ReadsOnlyDigitsAsALength) {
  EXPECT_EQ(TestRequest("POST", "/", {{"CONTENT_LENGTH", "12"}})->content_length, 12);
  EXPECT_EQ(TestRequest("POST", "/", {{"CONTENT_LENGTH", ""}})->content_length, 0);
  for (const char* bad : {"-1", "1x", "99999999999999999999", " 1"}) {
    EXPECT_EQ(TestRequest("POST", "/", {{"CONTENT_LENGTH", bad}})->content_length, INT64_MAX)
        << bad;
  }
}

TEST(Request, FindsHeaderFieldsByTheirWholeName) {
  TestRequest request("GET", "/", {{"HTTP_X_ORG", "a"}, {"HTTP_X_ORG_ID", "b"}});
  EXPECT_EQ(request->header("HTTP_X_ORG_ID"), "b");
  EXPECT_EQ(request->header("HTTP_X_ORG"), "a");
  EXPECT_EQ(request->header("HTTP_X"), "");
  EXPECT_EQ(request->org_id_wanted, "b");
}

std::string refusal_of_token(const std::string& authorization) {
  try {
    account::read_credential(authorization);
  } catch (const Error& error) {
    return std::string(error_row(error.code).name);
  }
  return "none";
}

TEST(Credential, IsReadByItsFormAlone) {
  std::string token = "hat_" + std::string(43, 'a');
  account::Credential credential = account::read_credential("Bearer " + token);
  EXPECT_EQ(credential.kind, account::Credential::Kind::access_token);
  EXPECT_EQ(credential.hash, sha256(token));
  EXPECT_EQ(account::read_credential("bEARER  " + token + " ").hash, sha256(token));
  std::string key = "hst_" + std::string(43, '-');
  EXPECT_EQ(account::read_credential("Bearer " + key).kind, account::Credential::Kind::api_key);
}

TEST(Credential, OfAnotherFormIsRefusedWithoutAQuestion) {
  std::string token = "hat_" + std::string(43, 'a');
  EXPECT_EQ(refusal_of_token(""), "auth.missing_token");
  EXPECT_EQ(refusal_of_token("Bearer"), "auth.missing_token");
  EXPECT_EQ(refusal_of_token("Bearer  "), "auth.missing_token");
  EXPECT_EQ(refusal_of_token("Basic YTpi"), "auth.invalid_token");
  EXPECT_EQ(refusal_of_token(token), "auth.invalid_token");
  EXPECT_EQ(refusal_of_token("Bearer x"), "auth.invalid_token");
  EXPECT_EQ(refusal_of_token("Bearer " + token + "a"), "auth.invalid_token");
  EXPECT_EQ(refusal_of_token("Bearer " + token + ", Bearer " + token), "auth.invalid_token");
  EXPECT_EQ(refusal_of_token("Bearer hat_" + std::string(42, 'a') + "="), "auth.invalid_token");
  EXPECT_EQ(refusal_of_token("Bearer hst_short"), "auth.invalid_api_key");
  EXPECT_EQ(refusal_of_token("Bearer hst_" + std::string(42, 'a') + "'"), "auth.invalid_api_key");
}

TEST(Caller, MayWhatItsListNamesInFull) {
  account::Caller caller;
  caller.permissions = "{data.runs.read,data.runs.write}";
  EXPECT_TRUE(caller.may("data.runs.read"));
  EXPECT_TRUE(caller.may("data.runs.write"));
  EXPECT_FALSE(caller.may("data.runs"));
  EXPECT_FALSE(caller.may("runs.read"));
  EXPECT_FALSE(caller.may(""));
  caller.permissions = "{}";
  EXPECT_FALSE(caller.may("data.runs.read"));
}

TEST(NextLink, KeepsTheQueryAndMovesTheCursor) {
  EXPECT_EQ(next_link("/v1/runs", "before", "7"), "</v1/runs?before=7>; rel=\"next\"");
  EXPECT_EQ(next_link("/v1/runs?limit=2&before=9&status=failed", "before", "7"),
            "</v1/runs?limit=2&status=failed&before=7>; rel=\"next\"");
  EXPECT_EQ(next_link("/v1/x?beforehand=1", "before", "7"),
            "</v1/x?beforehand=1&before=7>; rel=\"next\"");
}

TEST(NextLink, LetsNoClientEndItsBrackets) {
  std::string link = next_link("/v1/x?a=>;rel=\"evil\"<", "before", "7");
  EXPECT_EQ(link, "</v1/x?a=%3E;rel=%22evil%22%3C&before=7>; rel=\"next\"");
}

TEST(ResponseHead, HasWhatEveryAnswerHas) {
  TestRequest request("GET", "/", {{"HTTPS", "on"}});
  std::string head = response_head(*request, answered(Response::json_text(201, "{}")), {});
  EXPECT_TRUE(head.starts_with("Status: 201 Created\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nContent-Type: application/json\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nContent-Length: 2\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nX-Trace-Id: " + std::string(some_trace_id) + "\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nCache-Control: no-store\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nStrict-Transport-Security: "));
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
}

TEST(ResponseHead, PromisesTransportSecurityOnTlsOnly) {
  std::string head = response_head(*TestRequest("GET", "/"), answered(Response::no_content()), {});
  EXPECT_THAT(head, Not(HasSubstr("Strict-Transport-Security")));
  EXPECT_THAT(head, Not(HasSubstr("\r\nContent-")));
}

// nginx would keep it beside that of the program that answers in the end.
TEST(ResponseHead, LeavesCachingToWhoeverTheRequestIsSentOnTo) {
  Response response = Response::no_content();
  response.add_header("X-Accel-Redirect", "/_stream");
  std::string head = response_head(*TestRequest("GET", "/"), answered(response), {});
  EXPECT_THAT(head, Not(HasSubstr("Cache-Control")));
}

TEST(ResponseHead, LetsNoValueBeginAnotherField) {
  Response response = Response::no_content();
  response.add_header("Link", "a\r\nSet-Cookie: evil\x7F");
  std::string head = response_head(*TestRequest("GET", "/"), answered(response), {});
  EXPECT_THAT(head, HasSubstr("Link: a  Set-Cookie: evil \r\n"));
}

}  // namespace
}  // namespace hostler
