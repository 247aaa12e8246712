// See runner/oauth/oauth_services.h.
#include "runner/oauth/oauth_services.h"

#include <utility>

#include "lib/config/stored_secret.h"
#include "lib/crypto.h"
#include "lib/json.h"
#include "lib/postgres/with_retry.h"

namespace hostler::runner {

Task<postgres::Result> ask_postgres(OAuthServices services, postgres::BoundStatement statement) {
  return postgres::dedicated_with_retry(services.loop, services.db, std::move(statement));
}

std::optional<std::string> open_mcp_secret(const OAuthServices& services, std::string_view json) {
  std::optional<Json> sealed = parse_json_or_nothing(json);
  if (!sealed || !sealed->is_object()) return std::nullopt;
  config::SecretIdentity identity{std::string(sealed->text_or("id")),
                                  std::string(sealed->text_or("org_id")),
                                  std::string(sealed->text_or("kind"))};
  return services.secrets.open(identity, config::stored_secret(*sealed));
}

std::string seal_mcp_secret(const OAuthServices& services, std::string org_id, std::string kind,
                            std::string_view plain) {
  config::SecretIdentity identity{make_id(), std::move(org_id), std::move(kind)};
  return config::secret_json(identity, services.secrets.seal(identity, plain));
}

}  // namespace hostler::runner
