// See fcgi/identity/login_hmac.h.
#include "fcgi/identity/login_hmac.h"

#include "lib/crypto.h"

namespace hostler {

std::string login_hmac(const config::SecretBox& secret_box, std::string_view name_key) {
  return to_hex(hmac_sha256(secret_box.derived_key("audit login"), name_key));
}

}  // namespace hostler
