// See fcgi/mailed_secret.h.
#include "fcgi/mailed_secret.h"

#include "lib/crypto.h"
#include "lib/json.h"
#include "queries/llm_catalog.h"

namespace hostler {

std::string mailed_secret(const Services& services, std::string_view secret_id,
                          std::string_view name, std::string_view value) {
  SecretPlace place{std::string(secret_id), "", "mail"};
  JsonWriter plain;
  plain.begin_object().member(name, value).end_object();
  return secret_json(place, services.secret_box().seal(place, plain.take()));
}

namespace {

Task<std::string> new_token(Services& services, Request& request, int64_t seconds) {
  Result made = co_await services.query(request, query::secret_id_new);
  Token token = make_token("");
  JsonWriter mail;
  mail.begin_object().member("token_hash", to_hex(token.hash));
  mail.member("seconds", seconds);
  mail.member_raw("secret", mailed_secret(services, made.text(), "token", token.text));
  mail.end_object();
  co_return mail.take();
}

}  // namespace

Task<std::string> new_email_token(Services& services, Request& request) {
  return new_token(services, request, services.settings().integer("auth.email_token_seconds"));
}

Task<std::string> new_revert_token(Services& services, Request& request) {
  return new_token(services, request, services.settings().integer("auth.email_revert_seconds"));
}

}  // namespace hostler
