// See lib/mail/mailed_secret.h.
#include "lib/mail/mailed_secret.h"

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/json.h"

namespace hostler::mail {

std::string mailed_secret(const config::SecretBox& secret_box, std::string_view name,
                          std::string_view value) {
  JsonWriter plain;
  plain.begin_object().member(name, value).end_object();
  config::SecretIdentity identity{make_id(), "", "mail"};
  return config::secret_json(identity, secret_box.seal(identity, plain.take()));
}

std::string new_mailed_token(const config::SecretBox& secret_box, std::string_view prefix) {
  Token token = make_token(prefix);
  JsonWriter mail;
  mail.begin_object().member("token_hash", to_hex(token.hash));
  mail.member_raw("secret", mailed_secret(secret_box, "token", token.text));
  mail.end_object();
  return mail.take();
}

std::string new_login_code() {
  uint64_t number = 0;
  for (char byte : random_bytes(8)) number = number << 8 | static_cast<unsigned char>(byte);
  return fmt::format("{:06}", number % 1'000'000);
}

std::string login_code_hmac(const config::SecretBox& secret_box, std::string_view user_id,
                            std::string_view code) {
  std::string key = secret_box.derived_key("login code");
  return hmac_sha256(key, fmt::format("{}|{}", user_id, code));
}

std::string new_mailed_code(const config::SecretBox& secret_box, std::string_view user_id) {
  std::string code = new_login_code();
  JsonWriter mail;
  mail.begin_object();
  mail.member("code_hmac", to_hex(login_code_hmac(secret_box, user_id, code)));
  mail.member_raw("secret", mailed_secret(secret_box, "code", code));
  mail.end_object();
  return mail.take();
}

}  // namespace hostler::mail
