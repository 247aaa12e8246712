// See fcgi/identity/mailed_secret.h.
#include "fcgi/identity/mailed_secret.h"

#include "fcgi/identity/sealed_secret.h"
#include "lib/crypto.h"
#include "lib/json.h"

namespace hostler {

std::string mailed_secret(const config::SecretBox& secret_box, std::string_view name,
                          std::string_view value) {
  JsonWriter plain;
  plain.begin_object().member(name, value).end_object();
  return seal_secret(secret_box, "", "mail", plain.take()).json;
}

std::string new_mailed_token(const config::SecretBox& secret_box, std::string_view prefix) {
  Token token = make_token(prefix);
  JsonWriter mail;
  mail.begin_object().member("token_hash", to_hex(token.hash));
  mail.member_raw("secret", mailed_secret(secret_box, "token", token.text));
  mail.end_object();
  return mail.take();
}

}  // namespace hostler
