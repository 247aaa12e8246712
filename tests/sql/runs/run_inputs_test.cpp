// Answers to what runs ask, from SQL: to which request, and what the form of a remote tool's server
// takes. Through the whole stack: tests/api/runs/run_input_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/error.h"
#include "queries/daemon.h"
#include "queries/runs.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using namespace testing_support;
using testing::HasSubstr;

class RunInputs : public testing::Test {
 protected:
  RunInputs() {
    run_id_ = fixture_.new_run(fixture_.new_thread());
    daemon_id_ = fixture_.new_daemon("a");
    epoch_ = fixture_.claim(daemon_id_, run_id_);
  }

  void wait(std::string_view kind, std::string_view further = "") {
    postgres::DbSession session = database_.as_runner();
    std::string request =
        fmt::format(R"({{"request_id": "{}", "kind": "{}", "turn": 1, "tool_call_id": "c",)"
                    R"( "tool_name": "shop__buy"{}}})",
                    present, kind, further);
    session.run(query::RunWait{.daemon_id = daemon_id_,
                               .run_id = run_id_,
                               .epoch = epoch_,
                               .last_seq = 0,
                               .request = request,
                               .run_input_seconds = 3600});
  }
  void answer(const std::string& request_id) {
    fixture_.as_owner(query::RunInput{.run_id = run_id_,
                                      .content = "approve",
                                      .limit_input_bytes = 100,
                                      .decision = "approve",
                                      .arguments = std::nullopt,
                                      .reason = std::nullopt,
                                      .fault = std::nullopt,
                                      .json_offset = std::nullopt,
                                      .json_found = std::nullopt,
                                      .request_id = request_id});
  }
  std::string status() const {
    return fixture_.column(fmt::format("SELECT status FROM runs WHERE id = '{}'", run_id_));
  }
  // Returns what edited arguments must fit; none: no confirmation is asked for.
  std::string parameters() {
    postgres::Result asked = fixture_.as_owner(query::RunConfirms{.run_id = run_id_});
    if (asked.empty()) return "none";
    EXPECT_EQ(asked.front().text("request_id"), present);
    return asked.front().text_or_null("parameters").value_or("null");
  }

  static constexpr const char* present = "01890000-0000-7000-8000-00000000000a";
  static constexpr const char* earlier = "01890000-0000-7000-8000-000000000009";
  TestDatabase database_;
  RunFixture fixture_{database_};
  std::string run_id_;
  std::string daemon_id_;
  int64_t epoch_ = 0;
};

// A second click, or the repeat of a call whose answer was lost.
TEST_F(RunInputs, ToARequestThatIsOverAreNoneToTheNext) {
  wait("tool_confirmation");
  try {
    answer(earlier);
    ADD_FAILURE() << "approved what nobody has seen";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::runs_not_waiting);
    EXPECT_THAT(error.detail, HasSubstr(earlier));
  }
  EXPECT_EQ(status(), "waiting_for_input");
  answer(present);
  EXPECT_EQ(status(), "running");
}

TEST_F(RunInputs, AreCheckedByTheSchemaThatTheToolWasDeclaredWith) {
  fixture_.column(fmt::format(
      "UPDATE runs SET tools = '[{{\"name\": \"other\", \"parameters\": {{}}}}]', offered_tools = "
      "'[{{\"name\": \"shop__buy\", \"server_id\": \"s\", \"parameters_text\": \"{{ }}\"}}]' "
      "WHERE id = '{}'",
      run_id_));
  EXPECT_EQ(parameters(), "none") << "the run does not wait";
  wait("tool_confirmation");
  EXPECT_EQ(parameters(), "{ }") << "byte for byte";
  fixture_.column(
      fmt::format("UPDATE runs SET tools = '[{{\"name\": \"shop__buy\", "
                  "\"parameters\": {{\"a\":1}}}}]' WHERE id = '{}'",
                  run_id_));
  EXPECT_EQ(parameters(), R"({"a":1})") << "the run's own tool stands before";
  fixture_.column(
      fmt::format("UPDATE runs SET tools = NULL, offered_tools = NULL WHERE id = '{}'", run_id_));
  EXPECT_EQ(parameters(), "null") << "a tool of ours";
}

class Elicitations : public testing::Test {
 protected:
  // Returns what the server gets, or the message of the fault.
  static std::string answered(const std::string& content) {
    static TestDatabase database;
    static postgres::DbSession session = database.as_superuser();
    const char* form =
        R"({"type": "object", "required": ["size", "ok"], "properties": {
            "size": {"type": "integer", "minimum": 1, "maximum": 9},
            "name": {"type": "string", "minLength": 2, "maxLength": 3},
            "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            "tags": {"type": "array", "minItems": 1, "items": {"enum": ["a", "b"]}},
            "ok": {"type": "boolean"}}})";
    try {
      postgres::Result answer =
          session.run_text(fmt::format("SELECT elicited_answer($${}$$, $${}$$)", form, content));
      return std::string(answer.text());
    } catch (const Error& error) {
      EXPECT_EQ(error.faults.size(), 1u) << error.cause;
      if (error.faults.empty()) return error.cause;
      EXPECT_EQ(error.faults[0].field, "content");
      return error.faults[0].message;
    }
  }
};

TEST_F(Elicitations, AreAnsweredByWhatFitsTheForm) {
  EXPECT_EQ(answered(R"({"action":"accept","content":{"size":5,"ok":true,"tags":["a"]}})"),
            R"({"action": "accept", "content": {"ok": true, "size": 5, "tags": ["a"], )"
            R"("colour": "red"}})");
  EXPECT_EQ(answered(R"({"action":"decline"})"), R"({"action": "decline"})");
}

TEST_F(Elicitations, TellEveryFaultOfAnAnswerAndHowToMendIt) {
  EXPECT_EQ(answered(R"({"action":"accept","content":{"size":0,"name":"a","colour":"green",)"
                     R"("tags":[],"colur":"red"}})"),
            R"(content.ok is required; content.colour must be one of "red", "blue"; )"
            "content.name must have at least 2 characters; content.size must be at least 1; "
            "content.tags must have at least 1 item; content.colur is no field of the form");
  EXPECT_EQ(answered(R"({"action":"accept","content":{"size":1.5,"ok":1,"name":"abcd",)"
                     R"("tags":["c"]}})"),
            "content.name must have at most 3 characters; content.ok must be true or false; "
            R"(content.size must be a whole number; content.tags must hold only "a", "b")");
}

TEST_F(Elicitations, TakeNoMemberThatIsDoubledOrUnknown) {
  for (auto [content, words] : {
           std::pair{R"({"action":"decline","action":"accept"})", "\"action\" is given twice"},
           {R"({"action":"accept","content":{"size":9,"\u0073ize":1,"ok":true}})",
            "\"content.size\" is given twice"},
           {R"({"action":"accept","content":{"size":1,"ok":true},"x":1})", "\"x\" is not a member"},
           {R"({"action":"accept","contents":{"size":1}})", "\"contents\" is not a member"},
           {R"({"action":"maybe"})", "must be JSON: {\"action\""},
           {R"(["accept"])", "must be JSON"},
           {"yes", "must be JSON"},
       }) {
    EXPECT_THAT(answered(content), HasSubstr(words)) << content;
  }
}

// In jsonb such a number has as many digits as its exponent says.
TEST_F(Elicitations, TakeNoNumberThatIsWrittenShortAndStoredLong) {
  for (const char* number : {"1e131071", "-2.5E+0400", "0e-16383"}) {
    EXPECT_THAT(answered(fmt::format(R"({{"action":"accept","content":{{"size":{}}}}})", number)),
                HasSubstr("less than 400"))
        << number;
  }
  EXPECT_THAT(answered(R"({"action":"accept","content":{"size":0.5e+0001,"ok":true}})"),
              HasSubstr(R"("size": 5)"));
  EXPECT_THAT(answered(R"({"action":"accept","content":{"size":5,"ok":true,"name":"e\"1e999"}})"),
              HasSubstr("at most 3 characters"))
      << "texts are no numbers";
}

}  // namespace
}  // namespace hostler
