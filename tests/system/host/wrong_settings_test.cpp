// A database and roles that set everything wrongly: both programs work on it as on any other. They
// and hostlerctl pin their sessions' settings (lib/postgres/session_settings.h); which there are,
// and that none is missing, is the matter of tests/sql/postgres/session_settings_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include <fmt/format.h>

#include "lib/json.h"
#include "lib/time_text.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {
namespace {

constexpr std::array<std::string_view, 30> wrong{"client_encoding = 'LATIN1'",
                                                 "DateStyle = 'SQL, DMY'",
                                                 "IntervalStyle = 'sql_standard'",
                                                 "TimeZone = 'Pacific/Chatham'",
                                                 "bytea_output = 'escape'",
                                                 "extra_float_digits = -15",
                                                 "xmlbinary = 'hex'",
                                                 "xmloption = 'document'",
                                                 "standard_conforming_strings = off",
                                                 "backslash_quote = off",
                                                 "array_nulls = off",
                                                 "transform_null_equals = on",
                                                 "quote_all_identifiers = on",
                                                 "search_path = elsewhere, pg_catalog",
                                                 "row_security = off",
                                                 "default_text_search_config = 'simple'",
                                                 "gin_fuzzy_search_limit = 1",
                                                 "default_transaction_isolation = 'serializable'",
                                                 "default_transaction_read_only = on",
                                                 "default_transaction_deferrable = on",
                                                 "idle_session_timeout = 3000",
                                                 "idle_in_transaction_session_timeout = 3000",
                                                 "statement_timeout = 3000",
                                                 "lock_timeout = 1",
                                                 "exit_on_error = on",
                                                 "check_function_bodies = off",
                                                 "plan_cache_mode = 'force_custom_plan'",
                                                 "force_parallel_mode = on",
                                                 "jit = on",
                                                 "client_min_messages = 'error'"};

class WronglySetDatabase : public testing::Test {
 protected:
  // Sessions that began before do not count: all of them end.
  WronglySetDatabase() : stack_({.settings = {}, .has_runner = true}) {
    const std::string& database = stack_.database().name();
    for (std::string_view assignment : wrong) {
      sql(fmt::format("ALTER DATABASE {} SET {}", database, assignment));
      for (const char* role : {"hostler_api", "hostler_runner"}) {
        sql(fmt::format("ALTER ROLE {} IN DATABASE {} SET {}", role, database, assignment));
      }
    }
    sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid() AND backend_type = 'client backend'");
    EXPECT_TRUE(
        eventually(10'000, [this] { return stack_.line().quiet_status("/readyz") == 200; }));
  }
  void sql(const std::string& text) { stack_.sql().run_text(text); }

  ApiStack stack_;
};

void expect_time(const Json& object, std::string_view name) {
  std::string text(object.text_or(name));
  EXPECT_TRUE(parse_rfc3339(text)) << name << " is " << text;
  EXPECT_TRUE(text.ends_with('Z')) << name << " is " << text;
}

TEST_F(WronglySetDatabase, ServesLoginRunLedgerSecretsAndTimes) {
  add_fake_model(stack_, R"("output_usd_per_mtok":2000)");
  TestUser user = register_user(stack_);
  Client client = log_in(stack_, user);
  RunStory story = run_story(client, "Ünïcödé \\\\ ' \\\" [words 3]");
  EXPECT_EQ(story.status, "completed") << story.text();
  Answer run = client.get("/v1/runs/" + story.run_id);
  ASSERT_EQ(run.status, 200) << run.body;
  for (const char* name : {"created_at", "completed_at"}) expect_time(run.json(), name);

  Answer credits = client.get("/v1/me/credits");
  ASSERT_EQ(credits.status, 200) << credits.body;
  const Json page = credits.json();
  const Json::Array& rows = *page.find("transactions")->as_array();
  ASSERT_FALSE(rows.empty());
  int64_t sum = 0;
  for (const Json& row : rows) sum += row.integer_or("amount", 0);
  EXPECT_EQ(sum, page.integer_or("balance", -1)) << credits.body;
  EXPECT_EQ(rows.front().text_or("type"), "consumption") << credits.body;
  expect_time(rows.front(), "created_at");
  EXPECT_EQ(client.get("/v1/threads/search?q=" + std::string("%C3%9Cn%C3%AFc%C3%B6d%C3%A9")).status,
            200);
}

// What the pool stores under wrong settings the daemon and hostlerctl open, and the other way.
TEST_F(WronglySetDatabase, KeepsSecretsThatOpen) {
  TestUser admin = register_admin(stack_);
  Client client = log_in(stack_, admin);
  Answer provider = client.post("/v1/llm-providers",
                                fmt::format(R"({{"name":"keyed","provider_kind":"openai",)"
                                            R"("base_url":"{}/v1","api_key":"sk-\\-12345678"}})",
                                            stack_.model_url()));
  ASSERT_EQ(provider.status, 201) << provider.body;
  Answer model =
      client.post("/v1/llm-providers/" + provider.member("id") + "/models",
                  R"({"model":"fake-model","is_default":true,"context_tokens":10000000})");
  ASSERT_EQ(model.status, 201) << model.body;
  TestUser user = register_user(stack_);
  EXPECT_EQ(run_story(user.client, "[words 1]").status, "completed");
  std::vector<std::string> environment{"HOSTLER_DATABASE_URL=" + stack_.database().superuser_url(),
                                       "HOSTLER_SECRETS_KEY_FILE=" + stack_.folder() + "/key"};
  ProgramRun verified = run_ctl({"secret", "verify"}, environment);
  EXPECT_EQ(verified.status, 0) << verified.out << verified.err;
  ProgramRun ledger = run_ctl({"ledger", "verify"}, environment);
  EXPECT_EQ(ledger.status, 0) << ledger.out << ledger.err;
  EXPECT_THAT(run_ctl({"doctor"}, environment).out, testing::HasSubstr("secrets"));
}

}  // namespace
}  // namespace hostler::testing_support
