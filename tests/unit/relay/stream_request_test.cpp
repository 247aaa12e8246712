// Tests what a request for a stream means: path, credential, cursors, follow.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "sse-relay/stream_request.h"

namespace hostler::relay {
namespace {

const std::string run_id = "019ac3a2-7e10-7b42-9d0a-5f1c2a3b4c5d";
const std::string token = "Bearer hat_" + std::string(43, 'a');

ScgiRequest request_for(const std::string& uri) {
  ScgiRequest request;
  request.method = "GET";
  request.uri = uri;
  request.authorization = token;
  return request;
}

StreamRequest read(const std::string& query, const std::string& last_event_id = "") {
  std::string uri = "/v1/runs/" + run_id + "/events" + query;
  ScgiRequest request = request_for(uri);
  request.last_event_id = last_event_id;
  return read_stream_request(request, formats::native_format());
}

std::optional<ErrorCode> code_for(const std::string& uri, const char* method = "GET") {
  ScgiRequest request = request_for(uri);
  request.method = method;
  try {
    read_stream_request(request, formats::native_format());
  } catch (const Error& error) {
    return error.code;
  }
  return std::nullopt;
}

TEST(StreamRequest, BeginsAtTheStartAndFollowsByDefault) {
  StreamRequest wanted = read("");
  EXPECT_EQ(wanted.run_id, run_id);
  EXPECT_EQ(wanted.after, 0);
  EXPECT_FALSE(wanted.has_last_event_id);
  EXPECT_TRUE(wanted.follow);
  EXPECT_TRUE(wanted.faults.empty());
  EXPECT_EQ(wanted.credential.kind, account::Credential::Kind::access_token);
}

TEST(StreamRequest, TakesTheLargerOfBothCursors) {
  EXPECT_EQ(read("?after_seq=5").after, 5);
  EXPECT_EQ(read("", "7").after, 7);
  EXPECT_EQ(read("?after_seq=5", "7").after, 7);
  EXPECT_EQ(read("?after_seq=9", "7").after, 9);
  EXPECT_EQ(read("?after_seq=9223372036854775807").after, INT64_MAX);
  EXPECT_EQ(read("?after_seq=%31%30").after, 10);
  EXPECT_TRUE(read("", "7").has_last_event_id);
  EXPECT_FALSE(read("?after_seq=5").has_last_event_id);
}

TEST(StreamRequest, RefusesCursorsThatAreNoWholeNumbers) {
  struct Case {
    const char* text;
    const char* code;
  };
  for (const Case& bad :
       {Case{"-1", "out_of_range"}, Case{"9223372036854775808", "out_of_range"},
        Case{"99999999999999999999999", "out_of_range"}, Case{"1.5", "wrong_type"},
        Case{"1e3", "wrong_type"}, Case{"0x1", "wrong_type"}, Case{"%201", "wrong_type"},
        Case{"%2B1", "wrong_type"}, Case{"1%20or%201=1", "wrong_type"}, Case{"", "wrong_type"}}) {
    StreamRequest wanted = read("?after_seq=" + std::string(bad.text));
    ASSERT_EQ(wanted.faults.size(), 1U) << bad.text;
    EXPECT_EQ(wanted.faults[0].field, "after_seq");
    EXPECT_EQ(wanted.faults[0].code, bad.code) << bad.text;
  }
  for (const char* text : {"-1", "1.5", "9223372036854775808", "nonsense"}) {
    StreamRequest wanted = read("", text);
    ASSERT_EQ(wanted.faults.size(), 1U) << text;
    EXPECT_EQ(wanted.faults[0].field, "Last-Event-ID");
  }
}

TEST(StreamRequest, ListsEveryFault) {
  StreamRequest wanted = read("?after_seq=x&follow=maybe", "y");
  EXPECT_EQ(wanted.faults.size(), 3U);
  for (const char* twice : {"?after_seq=1&after_seq=2", "?after_seq=x&after_seq=y",
                            "?follow=true&follow=maybe", "?follow=maybe&follow=true"}) {
    StreamRequest doubled = read(twice);
    ASSERT_EQ(doubled.faults.size(), 1U) << twice;
    EXPECT_EQ(doubled.faults[0].code, "doubled") << twice;
  }
}

TEST(StreamRequest, KnowsFollowByItsTwoWordsOnly) {
  EXPECT_FALSE(read("?follow=false").follow);
  EXPECT_TRUE(read("?follow=true").follow);
  for (const char* text : {"False", "0", "no", ""}) {
    EXPECT_EQ(read("?follow=" + std::string(text)).faults.size(), 1U) << text;
  }
}

TEST(StreamRequest, TellsParametersItDoesNotKnowOnce) {
  StreamRequest request = read("?token=x&_=17&follow=no&_=18");
  std::vector<std::string> faults;
  for (const FieldFault& fault : request.faults) faults.push_back(fault.field + " " + fault.code);
  EXPECT_EQ(faults, (std::vector<std::string>{"follow wrong_type", "token unknown", "_ unknown"}));
}

TEST(StreamRequest, TellsAQueryOfTooManyParametersBeforeItsFaults) {
  std::string query = "?after_seq=x";
  for (int i = 1; i < 64; ++i) query += "&a" + std::to_string(i);
  EXPECT_FALSE(read(query).query_fault);
  EXPECT_EQ(read(query).faults.size(), 64U);
  ASSERT_TRUE(read(query + "&b").query_fault);
  EXPECT_EQ(read(query + "&b").query_fault->code, ErrorCode::http_bad_query);
}

TEST(StreamRequest, LeavesIdsThatAreNoneToTheirTurn) {
  std::string uri = "/v1/runs/x/events";
  ScgiRequest request = request_for(uri);
  EXPECT_EQ(read_stream_request(request, formats::native_format()).run_id, "x");
}

TEST(StreamRequest, KnowsOnePathAndOneMethod) {
  EXPECT_EQ(code_for("/v1/runs/x/events/"), ErrorCode::http_not_found);
  EXPECT_EQ(code_for("/v1/runs/x"), ErrorCode::http_not_found);
  EXPECT_EQ(code_for("/v2/runs/x/events"), ErrorCode::http_not_found);
  EXPECT_EQ(code_for("/v1/runs/x/events", "POST"), ErrorCode::http_method_not_allowed);
  EXPECT_EQ(code_for("/v1/runs/%zz/events"), ErrorCode::http_bad_request);
  EXPECT_EQ(code_for("/v1/runs/x/events?a=%00"), ErrorCode::http_bad_request);
}

TEST(StreamRequest, NeedsATokenOfOurs) {
  std::string uri = "/v1/runs/" + run_id + "/events";
  ScgiRequest request = request_for(uri);
  request.authorization = "";
  EXPECT_THROW(read_stream_request(request, formats::native_format()), Error);
  request.authorization = "Basic eDp5";
  EXPECT_THROW(read_stream_request(request, formats::native_format()), Error);
}

TEST(AnswerContext, KeepsNginxsTraceIdOrMakesOne) {
  ScgiRequest request;
  request.trace_id = "0123456789abcdef0123456789abcdef";
  EXPECT_EQ(answer_context(request, client::Gateway(config::Settings())).trace_id,
            request.trace_id);
  request.trace_id = "not a trace id";
  std::string made = answer_context(request, client::Gateway(config::Settings())).trace_id;
  EXPECT_EQ(made.size(), 32U);
  EXPECT_EQ(made.find_first_not_of("0123456789abcdef"), std::string::npos);
}

}  // namespace
}  // namespace hostler::relay
