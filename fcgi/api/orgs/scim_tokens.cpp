// Tokens by which an identity service provisions the members of an organization. A token is shown
// once; the database keeps its hash. Statements: sql/queries/scim.sql.
#include <optional>
#include <string>
#include <utility>

#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "lib/account/caller.h"
#include "lib/crypto.h"
#include "lib/time_text.h"
#include "queries/scim.h"

namespace hostler {
namespace {

constexpr size_t shown_characters = 8;  // of a token, in lists

std::optional<std::string> read_expiry(Fields& fields) {
  std::optional<std::string> expires_at = fields.nullable_time("expires_at").value;
  if (!expires_at) return std::nullopt;
  std::optional<int64_t> moment_ms = parse_rfc3339(*expires_at);
  if (moment_ms && *moment_ms <= unix_now_ms()) {
    fields.fault("expires_at", "out_of_range", "must be in the future");
  }
  return expires_at;
}

}  // namespace

OneStatement create_scim_token(const Input& input) {
  Fields fields = input.optional_body();
  std::optional<std::string> expires_at = read_expiry(fields);
  fields.check();
  Token token = make_token(account::scim_token_prefix);
  return {query::ScimTokenCreate{.token_hash = token.hash,
                                 .token_prefix = token.text.substr(0, shown_characters),
                                 .expires_at = expires_at},
          [text = std::move(token.text)](const postgres::Result& created) {
            return Response::json_row_with(201, created, "token", text);
          }};
}

OneStatement list_scim_tokens(const Input&) { return OneStatement::row(query::ScimTokenList{}); }

OneStatement delete_scim_token(const Input& input) {
  return OneStatement::no_content(
      query::ScimTokenDelete{.scim_token_id = input.path_value("scim_token_id")});
}

}  // namespace hostler
