// See tests/support/rows/run_fixture.h.
#include "tests/support/rows/run_fixture.h"

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/json.h"
#include "queries/access.h"
#include "queries/daemon.h"
#include "queries/daemons.h"
#include "queries/runs.h"

namespace hostler::testing_support {

RunFixture::RunFixture(const TestDatabase& made, const std::string& name) : database(made) {
  postgres::DbSession session = database.as_superuser();
  auto id = [&] { return std::string(session.run_text("SELECT uuidv7()").text()); };
  org_id = id();
  owner_id = id();
  other_id = id();
  std::string provider_id = id();
  model_id = id();
  session.run_text(fmt::format(
      "BEGIN;"
      "INSERT INTO orgs (id, slug, name, type) VALUES ('{0}', '{0}', 'fixture', 'workspace');"
      "INSERT INTO users (id, login, username, email, email_key, personal_org_id) VALUES "
      "('{1}', 'owner{5}', 'owner{5}', '{1}@example.org', '{1}@example.org', '{0}'),"
      "('{2}', 'other{5}', 'other{5}', '{2}@example.org', '{2}@example.org', '{0}');"
      "INSERT INTO org_members (org_id, user_id, role) VALUES ('{0}', '{1}', 'owner'),"
      "('{0}', '{2}', 'member');"
      "INSERT INTO credit_accounts (org_id) VALUES ('{0}');"
      "SELECT credit_post('{0}', 1000000, 'admin_adjustment');"
      "INSERT INTO llm_providers (id, org_id, name, provider_kind) VALUES ('{3}', '{0}', 'p', "
      "'openai');"
      "INSERT INTO llm_models (id, org_id, provider_id, model, is_default, input_usd_per_mtok, "
      "output_usd_per_mtok) VALUES ('{4}', '{0}', '{3}', 'm', true, 1, 2);"
      "COMMIT",
      org_id, owner_id, other_id, provider_id, model_id, name));
}

std::string RunFixture::new_thread(const std::string& message) {
  std::string thread_id = column(fmt::format(
      "INSERT INTO threads (org_id, created_by_user_id) VALUES ('{}', '{}') RETURNING id", org_id,
      owner_id));
  if (!message.empty()) {
    column(
        fmt::format("WITH counted AS (UPDATE credit_accounts SET stored_bytes = stored_bytes + "
                    "octet_length('{3}') WHERE org_id = '{0}') "
                    "INSERT INTO messages (org_id, thread_id, created_by_user_id, role, content)"
                    " VALUES ('{0}', '{1}', '{2}', 'user', '{3}') RETURNING id",
                    org_id, thread_id, owner_id, message));
  }
  return thread_id;
}

void RunFixture::begin_as(postgres::DbSession& session, const std::string& user_id) const {
  session.begin();
  const char* context = R"({"trace_id": "0123456789abcdef0123456789abcdef",
    "permissions": ["data.runs.read"]})";
  session.run(query::SetRequestContext{.org_id = org_id, .user_id = user_id, .context = context});
}

postgres::Result RunFixture::as_owner(const postgres::BoundStatement& statement) const {
  postgres::DbSession session = database.as_api();
  begin_as(session, owner_id);
  postgres::Result result = session.run(statement);
  session.commit();
  return result;
}

postgres::BoundStatement RunFixture::run_of(const std::string& thread_id,
                                            const std::string& strategy, int64_t active_max) {
  return query::RunCreate{.thread_id = thread_id,
                          .route_id = std::nullopt,
                          .persona_id = std::nullopt,
                          .strategy = strategy,
                          .metadata = "{}",
                          .limit_concurrent_runs = active_max,
                          .limit_concurrent_runs_per_user = 0,
                          .limit_queued_runs = 100,
                          .limit_stored_bytes = 0,
                          .credit_run_hold = 10,
                          .limit_waiting_runs = 1000,
                          .tools = std::nullopt,
                          .response_format = std::nullopt,
                          .budget = std::nullopt};
}

std::string RunFixture::new_run(const std::string& thread_id, const std::string& strategy,
                                int64_t active_max) const {
  postgres::Result result = as_owner(run_of(thread_id, strategy, active_max));
  std::optional<Json> made = parse_json_or_nothing(result.text());
  return std::string(made->text_or("run_id"));
}

// One lock an instance, as on a host.
std::string RunFixture::lock_id_of(const std::string& place) {
  return to_hex(sha256(place).substr(0, 16));
}

std::string RunFixture::new_daemon(const std::string& place) const {
  postgres::DbSession session = database.as_runner();
  postgres::Result started = session.run(query::DaemonStart{
      .host = "host", .instance = place, .version = "1", .lock_id = lock_id_of(place)});
  return std::string(started.text());
}

postgres::BoundStatement RunFixture::claim_of(const std::string& daemon_id, int64_t limit) {
  return query::RunClaim{.daemon_id = daemon_id,
                         .limit = limit,
                         .message_bytes = 8192,
                         .after_org_id = std::string("00000000-0000-0000-0000-000000000000"),
                         .org_ids = std::vector<std::string>{},
                         .user_ids = std::vector<std::string>{},
                         .limit_agent_turns = 25,
                         .limit_tool_calls = 32,
                         .limit_run_seconds = 1800,
                         .round_org_ids = std::vector<std::string>{},
                         .round_user_ids = std::vector<std::string>{}};
}

int64_t RunFixture::claim(const std::string& daemon_id, const std::string& run_id) const {
  postgres::DbSession session = database.as_runner();
  postgres::Result claimed = session.run(claim_of(daemon_id, 1000));
  for (int i = 0; i < claimed.size(); ++i) {
    if (claimed[i].text("id") == run_id) return claimed[i].integer("epoch");
  }
  return 0;
}

std::string RunFixture::column(const std::string& text) const {
  postgres::DbSession session = database.as_superuser();
  postgres::Result result = session.run_text(text);
  return result.empty() ? "" : std::string(result.text());
}

}  // namespace hostler::testing_support
