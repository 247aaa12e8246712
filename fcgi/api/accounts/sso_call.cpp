// See fcgi/api/accounts/sso_call.h.
#include "fcgi/api/accounts/sso_call.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "fcgi/identity/caller_database.h"
#include "lib/error.h"
#include "lib/loop/wait.h"
#include "queries/sso.h"

namespace hostler {
namespace {

// A daemon that has room begins within a second (sql: sso_calls.claim_until).
constexpr int64_t claim_limit_ms = 5'500;
// The claim, the exchange of a code, the keys that are read twice at most, and the userinfo.
constexpr int64_t wait_limit_ms = 28'000;
constexpr int64_t first_pause_ms = 20;
constexpr int64_t pause_ms_max = 250;

// Returns nothing while the call is under way.
std::optional<Json> result_in(const postgres::Row& row, int64_t waited_ms) {
  if (!row.is_null("result")) return parse_json_or_nothing(row.text("result")).value_or(Json());
  if (!row.boolean("is_claimed") && waited_ms > claim_limit_ms) {
    Error error(ErrorCode::http_unavailable,
                "No hostler-runner asked the provider within 5 seconds: none is running, or all "
                "are busy. Try again, or check GET /v1/admin/nodes.");
    error.retry_after_s = 5;
    throw error;
  }
  if (waited_ms > wait_limit_ms) {
    throw Error(ErrorCode::http_gateway_timeout, "The provider did not answer in time. Try again.");
  }
  return std::nullopt;
}

}  // namespace

Task<Json> sso_call_result(OpenCall& call, std::string call_id) {
  int64_t begun_ms = call.loop.now_ms();
  std::optional<Json> result;
  for (int64_t pause_ms = first_pause_ms; !result;
       pause_ms = std::min(pause_ms * 2, pause_ms_max)) {
    co_await loop::sleep_ms(call.loop, pause_ms);
    postgres::BoundStatement looking = query::SsoCallResult{.call_id = call_id};
    postgres::Result found = co_await call.database.query_apart(std::move(looking));
    result = result_in(found.front(), call.loop.now_ms() - begun_ms);
  }
  co_return *std::move(result);
}

std::string sso_site(const config::Settings& settings) {
  std::string site = settings.text("mail.site_url");
  while (site.ends_with('/')) site.pop_back();
  if (site.empty()) {
    throw Error(ErrorCode::auth_sso_not_configured,
                "The operator sets mail.site_url to the address of this site.");
  }
  return site;
}

}  // namespace hostler
