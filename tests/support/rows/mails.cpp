// See tests/support/rows/mails.h.
#include "tests/support/rows/mails.h"

#include <fmt/format.h>

#include "lib/config/secret_box.h"
#include "lib/crypto.h"
#include "lib/json.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {

std::string mailed(ApiStack& stack, const std::string& recipient, std::string_view mail_template,
                   std::string_view member) {
  postgres::Result found = stack.sql().run_text(fmt::format(
      "SELECT s.id, s.key_version, encode(s.wrapped_key, 'hex') AS wrapped_key, "
      "encode(s.sealed, 'hex') AS sealed FROM outbox o JOIN secrets s ON s.id = o.secret_id "
      "WHERE o.kind = 'mail' AND o.recipient = '{}' AND o.template = '{}' ORDER BY o.id DESC "
      "LIMIT 1",
      recipient, mail_template));
  if (found.empty()) return "";
  postgres::Row row = found.front();
  config::SealedSecret sealed{row.integer("key_version"),
                              from_hex(row.text("wrapped_key")).value_or(std::string()),
                              from_hex(row.text("sealed")).value_or(std::string())};
  config::SecretBox box =
      std::get<config::SecretBox>(config::SecretBox::load(stack.folder() + "/key"));
  std::optional<std::string> plain = box.open({std::string(row.text("id")), "", "mail"}, sealed);
  std::optional<Json> json = parse_json_or_nothing(plain.value_or(std::string()));
  return json ? std::string(json->text_or(member)) : "";
}

int64_t mail_count(ApiStack& stack, const std::string& recipient, std::string_view mail_template) {
  return sql_number(stack, fmt::format("SELECT count(*) FROM outbox WHERE recipient = '{}' AND "
                                       "template = '{}'",
                                       recipient, mail_template));
}

}  // namespace hostler::testing_support
