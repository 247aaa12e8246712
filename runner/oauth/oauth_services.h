// Services of everything about OAuth, and two tasks that recur: asking Postgres until it answers,
// and opening and sealing secrets.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/config/live_settings.h"
#include "lib/config/secret_box.h"
#include "lib/http/client.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/postgres/database.h"

namespace hostler::runner {

struct OAuthServices {
  loop::Loop& loop;
  postgres::Database& db;
  http::HttpClient& http;
  const config::SecretBox& secrets;
  const config::LiveSettings& settings;
};

// Waits while Postgres is away; the statement bears to be asked twice.
Task<postgres::Result> ask_postgres(OAuthServices services, postgres::BoundStatement statement);

// Reads the form that mcp_sealed() writes. Returns nothing for an empty value, or if it does not
// open.
std::optional<std::string> open_mcp_secret(const OAuthServices& services, std::string_view json);
// For mcp_sealed_insert(). org_id: empty for the platform's.
std::string seal_mcp_secret(const OAuthServices& services, std::string org_id, std::string kind,
                            std::string_view plain);

}  // namespace hostler::runner
