// The caller's links with identity providers. Statements: sql/queries/identity_providers.sql.
#include "fcgi/api/handlers.h"
#include "queries/identity_providers.h"
#include "queries/outbox.h"

namespace hostler {

OneStatement list_identities(const Input&) { return OneStatement::row(query::OwnIdentities{}); }

OneStatement delete_identity(const Input& input) {
  return OneStatement::no_content(
             query::IdentityUnlink{.identity_id = input.path_value("identity_id")})
      .notify(query::OutboxNotify{});
}

}  // namespace hostler
