// Answers to confirmations that an earlier version stored without a decision: what the upgrade
// makes of them, and what no row may hold since.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/error.h"
#include "tests/support/rigs/older_schema.h"

namespace hostler {
namespace {

using testing_support::OlderSchema;

class ConfirmationsUpgrade : public testing::Test {
 protected:
  ConfirmationsUpgrade() {
    database_.column(
        "BEGIN; "
        "INSERT INTO orgs (id, slug, name, type) VALUES (uuidv7(), 'o', 'o', 'workspace'); "
        "INSERT INTO users (login, username, email, personal_org_id) "
        "SELECT 'u', 'u', 'u@example.org', id FROM orgs WHERE slug = 'o'; COMMIT");
  }
  // Of a run that goes on behind this answer, or has ended; the run's id.
  std::string answer(const std::string& kind, const std::string& content, bool has_ended = false) {
    std::string run_id = database_.column("SELECT uuidv7()");
    database_.column(fmt::format(
        "INSERT INTO threads (org_id, created_by_user_id) SELECT personal_org_id, id FROM users "
        "WHERE login = 'u'; "
        "INSERT INTO runs (id, org_id, thread_id, created_by_user_id, status, source, trace_id, "
        "persona_id, persona_row_id, model_id, model, provider_kind, credential_name, ended_at) "
        "SELECT '{0}', org_id, id, created_by_user_id, '{1}', 'api', 'x', 'normal@1', uuidv7(), "
        "uuidv7(), 'm', 'openai', 'c', {2} FROM threads ORDER BY id DESC LIMIT 1; "
        "INSERT INTO run_inputs (run_id, request_id, org_id, turn, tool_call_id, kind, content) "
        "SELECT id, uuidv7(), org_id, 1, 'c', '{3}', $${4}$$ FROM runs WHERE id = '{0}'",
        run_id, has_ended ? "completed" : "running", has_ended ? "now()" : "NULL", kind, content));
    return run_id;
  }
  std::string decision_of(const std::string& run_id) {
    return database_.column(fmt::format(
        "SELECT coalesce(decision, 'none') FROM run_inputs WHERE run_id = '{}'", run_id));
  }

  OlderSchema database_;
};

TEST_F(ConfirmationsUpgrade, DecidesWhatIsStillToBeExecutedByItsWordAlone) {
  const char* confirmation = "tool_confirmation";
  std::string approved = answer(confirmation, " Approve\n");
  std::string denied = answer(confirmation, "DENY");
  std::string object = answer(confirmation, R"({"decision":"approve","decision":"deny"})");
  std::string question = answer("question", "approve");
  std::string old = answer(confirmation, "approve", true);
  std::string rows = database_.column("SELECT count(*) FROM run_inputs");
  database_.upgrade();
  EXPECT_EQ(decision_of(approved), "approve");
  EXPECT_EQ(decision_of(denied), "deny");
  EXPECT_EQ(decision_of(object), "none") << "which approves nothing";
  EXPECT_EQ(decision_of(question), "none");
  EXPECT_EQ(decision_of(old), "none");
  EXPECT_EQ(database_.column("SELECT count(*) FROM run_inputs"), rows);
  EXPECT_NO_THROW(answer("question", "blue"));
  EXPECT_THROW(answer(confirmation, "approve"), Error) << "no confirmation without a decision";
}

}  // namespace
}  // namespace hostler
