// Tests what the database raises, as an error of the API: lib/error_reasons.h.
#include "lib/error_reasons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hostler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(ErrorReasons, OfACodeAloneAreNone) {
  Error error = error_of_reason("threads.not_found", "{}");
  EXPECT_EQ(error.code, ErrorCode::threads_not_found);
  EXPECT_EQ(error.detail, "");
  EXPECT_EQ(error.status(), 404);
  EXPECT_EQ(error.retry_after_s, 0);
  EXPECT_THAT(error.members, IsEmpty());
  EXPECT_THAT(error.faults, IsEmpty());
}

TEST(ErrorReasons, PutFactsIntoTheirWords) {
  Error error = error_of_reason("credits.insufficient run_not_covered",
                                R"({"hold": 9223372036854775807, "available": -5})");
  EXPECT_EQ(error.detail, "A run reserves 9223372036854775807 credits, but -5 are available.");
  EXPECT_EQ(error.status(), 402);
  EXPECT_THAT(error.members, IsEmpty()) << "facts are not members by themselves";
}

TEST(ErrorReasons, ShowNothingForANullAndTakeNoPatternFromAFact) {
  EXPECT_EQ(error_of_reason("runs.not_waiting run_has_status", R"({"status": null})").detail,
            "The run is .");
  EXPECT_EQ(error_of_reason("runs.not_waiting run_has_status", R"({"status": "{x} }}"})").detail,
            "The run is {x} }}.");
}

TEST(ErrorReasons, WriteBracesOfTheirOwn) {
  EXPECT_EQ(error_of_reason("subscriptions.active_exists one_is_active", "{}").detail,
            "Cancel it first with DELETE /v1/subscriptions/{id}.");
  EXPECT_EQ(
      error_of_reason("validation.error content_is_no_json", R"({"offset": 7, "found": "x"})")
          .detail,
      R"(content: at byte 7 of the JSON x; answer approve, deny, or {"decision": "approve" or )"
      R"("deny", "arguments": {…}, "reason": "…"})");
}

TEST(ErrorReasons, KnowASecondStatusAndWhenToTryAgain) {
  Error below = error_of_reason("credits.insufficient below_zero", R"({"balance": 3})");
  EXPECT_EQ(below.status(), 409);
  EXPECT_EQ(below.detail, "The balance is 3.");
  EXPECT_EQ(
      error_of_reason("runs.limit_exceeded queue_is_full", R"({"count_max": 2})").retry_after_s, 5);
  Error early = error_of_reason("auth.rate_limited not_yet", R"({"retry_after_s": 61})");
  EXPECT_EQ(early.retry_after_s, 61);
  EXPECT_EQ(early.detail, "");
}

TEST(ErrorReasons, NameTheFieldAtFault) {
  Error error = error_of_reason("validation.error start_after_end", "{}");
  EXPECT_EQ(error.detail, "start: must not be after end");
  ASSERT_EQ(error.faults.size(), 1u);
  EXPECT_EQ(error.faults[0].field, "start");
  EXPECT_EQ(error.faults[0].code, "out_of_range");
  EXPECT_EQ(error.faults[0].message, "must not be after end");
  error = error_of_reason("validation.error name_not_comparable", R"({"field": "login"})");
  ASSERT_EQ(error.faults.size(), 1u);
  EXPECT_EQ(error.faults[0].field, "login");
  EXPECT_EQ(error.detail, "login: contains characters that are not allowed together");
  // Where the code says what is wrong, the detail is a sentence of its own.
  error = error_of_reason("threads.not_found conversation_unknown", "{}");
  ASSERT_EQ(error.faults.size(), 1u);
  EXPECT_EQ(error.faults[0].field, "conversation");
  EXPECT_EQ(error.detail, "The conversation does not exist.");
}

TEST(ErrorReasons, MakeMembersOfTheFactsThatAreShown) {
  Error error =
      error_of_reason("auth.forbidden permission_missing", R"({"permission": "org.manage"})");
  EXPECT_EQ(error.detail, "This needs the permission org.manage.");
  EXPECT_THAT(error.members, ElementsAre(Pair("permission", "\"org.manage\"")));
}

TEST(ErrorReasons, ThatNobodyWroteAreOurOwnMistake) {
  for (const char* raised : {"runs.gone", "runs.not_waiting nonsense", "runs.not_waiting stays",
                             "runs.not_waiting run_has_status", "auth.forbidden permission_missing",
                             "auth.rate_limited not_yet", "", " "}) {
    Error error = error_of_reason(raised, R"({"statuses": 1})");
    EXPECT_EQ(error.code, ErrorCode::internal_error) << raised;
    EXPECT_EQ(error.detail, "") << raised;
    EXPECT_THAT(error.cause, HasSubstr(raised));
  }
  EXPECT_EQ(error_of_reason("runs.not_waiting run_has_status", "").code, ErrorCode::internal_error);
}

TEST(ErrorReasons, TellWhichFactsTheyNeed) {
  for (const ErrorReason& reason : error_reasons()) {
    if (reason.name == "version_taken") {
      EXPECT_THAT(facts_of(reason), ElementsAre("persona_key", "version"));
    } else if (reason.name == "permission_missing") {
      EXPECT_THAT(facts_of(reason), ElementsAre("permission"));
    } else if (reason.name == "content_is_no_json") {
      EXPECT_THAT(facts_of(reason), ElementsAre("found", "offset"));
    }
  }
}

TEST(Identity, IsReadAsItWasWritten) {
  const std::string id = "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a";
  const std::vector<std::string> texts{"anonymous - -", "user " + id + " -",
                                       "api_key " + id + " " + id};
  for (const std::string& text : texts) {
    std::optional<Identity> read = read_identity(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(identity_text(*read), text);
  }
  for (const char* bad : {"", "user", "user -", "nobody - -", "user x -", "user - x", "user - - -",
                          "user  - -", " user - -"}) {
    EXPECT_FALSE(read_identity(bad)) << bad;
  }
}

}  // namespace
}  // namespace hostler
