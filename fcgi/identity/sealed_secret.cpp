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

SigningSecret make_signing_secret(const config::SecretBox& secret_box, std::string org_id,
                                  std::string kind) {
  std::string text = "whsec_" + to_base64(random_bytes(32));
  NewSecret stored = seal_secret(secret_box, std::move(org_id), std::move(kind), text);
  return {std::move(text), std::move(stored.json)};
}

}  // namespace hostler
