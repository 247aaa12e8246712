// See fcgi/identity/sealed_secret.h.
#include "fcgi/identity/sealed_secret.h"

#include <utility>

#include "lib/crypto.h"

namespace hostler {

NewSecret seal_secret(const config::SecretBox& secret_box, std::string org_id, std::string kind,
                      std::string_view plain) {
  config::SecretIdentity identity{make_id(), std::move(org_id), std::move(kind)};
  std::string json = config::secret_json(identity, secret_box.seal(identity, plain));
  return {std::move(identity.id), std::move(json)};
}

}  // namespace hostler
