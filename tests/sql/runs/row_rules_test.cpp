// Tests rules for the rows of runs and threads, for every writer: as a superuser here.
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "lib/error.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using testing_support::RunFixture;
using testing_support::TestDatabase;

class RowRules : public testing::Test {
 protected:
  // Why Postgres refused it; nothing when it did not.
  std::string refusal_of(const std::string& text) {
    postgres::DbSession session = database_.as_superuser();
    try {
      session.run_text(text);
    } catch (const Error& error) {
      return error.cause;
    }
    return "";
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  std::string thread_id_ = fixture_.new_thread();
  std::string run_id_ = fixture_.new_run(thread_id_);
};

TEST_F(RowRules, RefuseARunWhoseStateDoesNotGoWithTheRest) {
  fixture_.claim(fixture_.new_daemon("a"), run_id_);
  for (const char* change :
       {"queued = true", "ended_at = now()", "input_request = '{}'", "status = 'completed'",
        "status = 'gone', ended_at = now(), owner_id = NULL", "status = 'waiting_for_input'",
        "status = 'waiting_for_input', input_request = '{}'", "credits_held = -1",
        "source = 'mail'", "status = 'failed', ended_at = now()"}) {
    std::string refusal = refusal_of(fmt::format("UPDATE runs SET {}", change));
    EXPECT_NE(refusal.find("does not go with the rest of its row"), std::string::npos)
        << change << ": " << refusal;
  }
  EXPECT_EQ(refusal_of("UPDATE runs SET status = 'completed', ended_at = now(), owner_id = NULL"),
            "");
  std::string refusal = refusal_of("UPDATE runs SET status = 'running', ended_at = NULL");
  EXPECT_NE(refusal.find("completed cannot become running"), std::string::npos) << refusal;
  refusal = refusal_of(
      "INSERT INTO runs (org_id, thread_id, created_by_user_id, source, trace_id, persona_id, "
      "persona_row_id, model_id, model, provider_kind, credential_name, status) SELECT org_id, "
      "thread_id, created_by_user_id, source, trace_id, persona_id, persona_row_id, model_id, "
      "model, provider_kind, credential_name, 'failed' FROM runs");
  EXPECT_NE(refusal.find("does not go with the rest of its row"), std::string::npos) << refusal;
}

TEST_F(RowRules, RefuseAHiddenThreadThatIsNotDeleted) {
  std::string refusal = refusal_of("UPDATE threads SET is_hidden = true");
  EXPECT_NE(refusal.find("hidden and not deleted"), std::string::npos) << refusal;
  EXPECT_EQ(refusal_of("UPDATE threads SET is_hidden = true, deleted_at = now()"), "");
  EXPECT_NE(refusal_of("UPDATE threads SET deleted_at = NULL"), "");
}

}  // namespace
}  // namespace hostler
