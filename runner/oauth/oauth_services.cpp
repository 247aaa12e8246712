// See runner/oauth/oauth_services.h.
#include "runner/oauth/oauth_services.h"

#include <utility>

#include "lib/crypto.h"
#include "lib/json.h"
#include "lib/loop/wait.h"

namespace hostler::runner {
namespace {

constexpr int64_t database_retry_ms = 200;

}  // namespace

Task<postgres::Result> ask_postgres(OAuthServices services, postgres::BoundStatement statement) {
  postgres::Batch batch;
  batch.add(std::move(statement));
  for (;;) {
    postgres::Batch attempt = batch;
    postgres::BatchOutcome outcome = co_await services.db.attempt(std::move(attempt));
    if (!outcome.error) co_return std::move(outcome.results.at(0));
    if (!outcome.is_unknown()) throw *outcome.error;
    co_await loop::sleep_ms(services.loop, database_retry_ms);
  }
}

std::optional<std::string> open_mcp_secret(const OAuthServices& services, std::string_view json) {
  std::optional<Json> sealed = parse_json_or_nothing(json);
  if (!sealed || !sealed->is_object()) return std::nullopt;
  config::SecretIdentity identity{std::string(sealed->text_or("id")),
                                  std::string(sealed->text_or("org_id")),
                                  std::string(sealed->text_or("kind"))};
  return services.secrets.open(identity, {sealed->integer_or("key_version", 0),
                                          from_hex(sealed->text_or("wrapped_key")).value_or(""),
                                          from_hex(sealed->text_or("sealed")).value_or("")});
}

std::string seal_mcp_secret(const OAuthServices& services, std::string org_id, std::string kind,
                            std::string_view plain) {
  config::SecretIdentity identity{make_id(), std::move(org_id), std::move(kind)};
  return config::secret_json(identity, services.secrets.seal(identity, plain));
}

}  // namespace hostler::runner
