// Calls of webhook tools between a daemon and the tokens of their results: whichever side comes
// first counts, and what is said to one side holds towards the other.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/error.h"
#include "lib/json.h"
#include "queries/daemon.h"
#include "queries/runs.h"
#include "queries/webhook_calls.h"
#include "tests/support/rows/run_fixture.h"
#include "tests/support/rows/run_statements.h"

namespace hostler {
namespace {

using namespace testing_support;

constexpr const char* first_try = "00000000-0000-0000-0000-000000000001";
constexpr const char* second_try = "00000000-0000-0000-0000-000000000002";
constexpr const char* own_result = R"({"tool_call_id": "c", "output": "own"})";
constexpr const char* token_result = R"({"tool_call_id": "c", "output": "by token"})";

class WebhookCalls : public testing::Test {
 protected:
  WebhookCalls() {
    fixture_.column(
        fmt::format("INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed) "
                    "VALUES ('{1}', '{0}', 'tool', 1, 'x', 'x'); "
                    "INSERT INTO tools (id, org_id, name, description, parameters, url, secret_id) "
                    "VALUES ('{1}', '{0}', 'pay', 'd', '{{}}', 'https://example.org', '{1}')",
                    fixture_.org_id, tool_id_));
    run_id_ = fixture_.new_run(fixture_.new_thread());
    daemon_id_ = fixture_.new_daemon("a");
    epoch_ = fixture_.claim(daemon_id_, run_id_);
  }

  std::string begin(const char* try_id, int64_t tries_known, const std::string& name = "pay") {
    postgres::DbSession session = database_.as_runner();
    postgres::Result begun = session.run(query::WebhookCallBegin{.run_id = run_id_,
                                                                 .epoch = epoch_,
                                                                 .turn = 1,
                                                                 .tool_call_id = "c",
                                                                 .tool_name = name,
                                                                 .tool_id = tool_id_,
                                                                 .tries_known = tries_known,
                                                                 .tries_max = 3,
                                                                 .try_id = try_id});
    tries_ = begun.front().integer("tries");
    return std::string(begun.front().text("state"));
  }
  // Returns what counts instead; empty: nothing.
  std::string end(bool is_accepted, std::optional<std::string> own = std::nullopt) {
    postgres::DbSession session = database_.as_runner();
    postgres::Result ended = session.run(query::WebhookCallEnd{.run_id = run_id_,
                                                               .epoch = epoch_,
                                                               .tool_call_id = "c",
                                                               .is_accepted = is_accepted,
                                                               .result = own});
    return std::string(ended.front().text("early"));
  }
  // The code of the refusal; empty: the result was taken.
  std::string answer_by_token() {
    try {
      postgres::DbSession session = database_.as_api();
      session.run(query::RunToolAnswerByToken{
          .run_id = run_id_, .tool_call_id = "c", .result = token_result});
      return "";
    } catch (const Error& error) {
      return std::string(error_row(error.code).name);
    }
  }
  void change_tool(const std::string& assignments) {
    fixture_.column(fmt::format("UPDATE tools SET {} WHERE id = '{}'", assignments, tool_id_));
  }
  std::string asked(const std::string& column) {
    return fixture_.column(
        fmt::format("SELECT {}::text FROM run_asked_calls WHERE run_id = '{}'", column, run_id_));
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  const std::string tool_id_ = "01890000-0000-7000-8000-00000000000a";
  std::string run_id_;
  std::string daemon_id_;
  int64_t epoch_ = 0;
  int64_t tries_ = 0;
};

TEST_F(WebhookCalls, OfWhichNobodyKnowsTakeNoResultAnyMore) {
  ASSERT_EQ(begin(first_try, 0), "send");
  EXPECT_EQ(begin(second_try, 0), "unknown") << "a successor has made none itself";
  EXPECT_EQ(answer_by_token(), "runs.tool_result_exists");
  EXPECT_EQ(begin(second_try, 0), "unknown") << "as before";
}

TEST_F(WebhookCalls, WhoseTriesAreUsedUpTakeNoResultAnyMore) {
  change_tool("is_repeatable = true");
  ASSERT_EQ(begin(first_try, 0), "send");
  fixture_.column("UPDATE run_asked_calls SET tries = 3");
  EXPECT_EQ(begin(second_try, 0), "used_up");
  EXPECT_EQ(answer_by_token(), "runs.tool_result_exists");
}

TEST_F(WebhookCalls, OfAToolThatWentTakeNoResultAnyMore) {
  ASSERT_EQ(begin(first_try, 0), "send");
  change_tool("is_active = false");
  EXPECT_EQ(begin(second_try, 1), "gone");
  EXPECT_EQ(answer_by_token(), "runs.tool_result_exists");
}

TEST_F(WebhookCalls, TakeTheTokensResultBeforeTheEndOrTheSuccessor) {
  ASSERT_EQ(begin(first_try, 0), "send");
  EXPECT_EQ(answer_by_token(), "");
  EXPECT_EQ(begin(second_try, 0), "result");
  EXPECT_EQ(end(false, own_result), token_result);
  EXPECT_EQ(answer_by_token(), "runs.tool_result_exists");
}

// The daemon asks again when Postgres went away before its answer came.
TEST_F(WebhookCalls, AreBegunOnceHoweverOftenATryIsAskedFor) {
  ASSERT_EQ(begin(first_try, 0), "send");
  EXPECT_EQ(begin(first_try, 0), "send");
  EXPECT_EQ(tries_, 1);
  EXPECT_EQ(begin(second_try, 1), "send");
  EXPECT_EQ(tries_, 2);
}

// A daemon may die before it commits the outcome that it ended the call with.
TEST_F(WebhookCalls, KeepTheOwnResultOfWhatNobodyMayRepeat) {
  ASSERT_EQ(begin(first_try, 0), "send");
  EXPECT_EQ(end(false, own_result), own_result);
  EXPECT_EQ(begin(second_try, 0), "result");
  EXPECT_EQ(asked("early"), own_result);
  EXPECT_EQ(answer_by_token(), "runs.tool_result_exists");
}

// From then on the results that an organization stores count it.
TEST_F(WebhookCalls, KeepTheirResultUntilItStandsWithTheOthers) {
  ASSERT_EQ(begin(first_try, 0), "send");
  EXPECT_EQ(end(false, own_result), own_result);
  for (int times = 0; times < 2; ++times) {
    postgres::DbSession session = database_.as_runner();
    session.run(query::RunToolCommit{.daemon_id = daemon_id_,
                                     .run_id = run_id_,
                                     .epoch = epoch_,
                                     .turn = 1,
                                     .tool_call_id = "c",
                                     .tool_name = "pay",
                                     .result = R"("own")",
                                     .error_code = std::nullopt,
                                     .error_message = std::nullopt,
                                     .duration_ms = 1,
                                     .last_seq = 1,
                                     .cost = 0});
    EXPECT_EQ(asked("early"), "");
  }
  EXPECT_EQ(fixture_.column("SELECT result FROM run_tool_results"), R"("own")");
  EXPECT_EQ(answer_by_token(), "runs.tool_result_exists");
}

// An inactive tool of the organization does not exist; the platform's tool of its name does not
// replace it.
TEST_F(WebhookCalls, AreOfferedAsTheOrganizationHasThem) {
  fixture_.column(
      fmt::format("INSERT INTO secrets (id, kind, key_version, wrapped_key, sealed) "
                  "VALUES ('{1}', 'tool', 1, 'x', 'x'); "
                  "INSERT INTO tools (id, name, description, parameters, url, secret_id) "
                  "VALUES ('{1}', 'pay', 'd', '{{}}', 'https://example.net', '{1}'); "
                  "INSERT INTO personas (id, org_id, persona_key, version, display_name) "
                  "VALUES ('{1}', '{0}', 'p', '1', 'p')",
                  fixture_.org_id, first_try));
  auto offered = [this] {
    fixture_.column(
        fmt::format("UPDATE runs SET offered_tools = NULL, persona_row_id = '{}'", first_try));
    postgres::DbSession session = database_.as_runner();
    postgres::Result result =
        session.run(query::RunOfferTools{.run_id = run_id_,
                                         .epoch = epoch_,
                                         .names = std::vector<std::string>{"pay"},
                                         .taken = std::vector<std::string>{}});
    std::optional<Json> tools = parse_json_or_nothing(result.front().text("offered"));
    return tools->as_array()->empty() ? "none"
                                      : std::string(tools->as_array()->at(0).text_or("tool_id"));
  };
  EXPECT_EQ(offered(), tool_id_);
  change_tool("is_active = false");
  EXPECT_EQ(offered(), "none");
  change_tool("deleted_at = now()");
  EXPECT_EQ(offered(), first_try) << "the platform's";
}

// A cancel meets the daemon before it hears of what it stored: it counts none of it.
TEST_F(WebhookCalls, OfferedToARunThatIsStoppedThenStayCounted) {
  fixture_.column(
      fmt::format("INSERT INTO personas (id, org_id, persona_key, version, display_name) "
                  "VALUES ('{1}', '{0}', 'p', '1', 'p'); UPDATE runs SET persona_row_id = '{1}'",
                  fixture_.org_id, first_try));
  postgres::DbSession session = database_.as_runner();
  postgres::Result offered =
      session.run(query::RunOfferTools{.run_id = run_id_,
                                       .epoch = epoch_,
                                       .names = std::vector<std::string>{"pay"},
                                       .taken = std::vector<std::string>{}});
  std::string added = std::to_string(offered.front().integer("added"));
  EXPECT_NE(added, "0");
  const char* stored = "SELECT stored_bytes FROM credit_accounts";
  std::string before = fixture_.column(stored);
  session.run(commit_of(
      {.daemon_id = daemon_id_, .run_id = run_id_, .epoch = epoch_, .status = "cancelled"}));
  EXPECT_EQ(fixture_.column("SELECT status || ' ' || result_bytes FROM runs"),
            "cancelled " + added);
  EXPECT_EQ(fixture_.column(stored), before);
}

TEST_F(WebhookCalls, HaveTheNameThatTheModelCalled) {
  change_tool("name = 'renamed'");
  ASSERT_EQ(begin(first_try, 0, "pay"), "send");
  EXPECT_EQ(asked("tool_name"), "pay");
}

}  // namespace
}  // namespace hostler
