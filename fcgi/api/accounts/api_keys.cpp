// API keys of the caller, in the organization acted in. Statements: sql/queries/api_keys.sql. A key
// is shown once, when it is made; the database keeps its hash.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/permissions.h"
#include "lib/crypto.h"
#include "lib/json.h"
#include "lib/time_text.h"
#include "queries/api_keys.h"

namespace hostler {
namespace {

constexpr std::string_view key_beginning = "hst_";
constexpr size_t shown_characters = 8;  // of a key, in lists
constexpr size_t scopes_max = 50;

std::vector<std::string> read_scopes(Fields& fields) {
  std::optional<std::vector<std::string>> scopes =
      fields.optional_texts("scopes", scopes_max, {.min = 1, .max = 100});
  if (!scopes) return {};
  for (size_t i = 0; i < scopes->size(); ++i) {
    if (is_permission(scopes->at(i))) continue;
    fields.fault("scopes." + std::to_string(i), "unknown", "is not a permission");
  }
  return std::move(*scopes);
}

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

OneStatement create_api_key(const Input& input) {
  Fields fields = input.body();
  JsonWriter wanted;
  wanted.begin_object();
  wanted.member(
      "name", fields.required_text("name", {.min = 1, .max = 200, .trims = true, .is_name = true}));
  std::vector<std::string> scopes = read_scopes(fields);
  std::optional<std::string> expires_at = read_expiry(fields);
  fields.check();
  Token key = make_token(key_beginning);
  wanted.member("key_prefix", key.text.substr(0, shown_characters));
  wanted.key("scopes").begin_array();
  for (const std::string& scope : scopes) wanted.text(scope);
  wanted.end_array();
  if (expires_at) wanted.member("expires_at", *expires_at);
  wanted.end_object();
  return {query::ApiKeyCreate{.wanted = wanted.take(),
                              .key_hash = key.hash,
                              .limit_api_keys = input.settings.integer("limit.api_keys")},
          [text = std::move(key.text)](const postgres::Result& created) {
            return Response::json_row_with(201, created, "key", text);
          }};
}

OneStatement list_api_keys(const Input& input) {
  Page page = input.page();
  return OneStatement::items(input, query::ApiKeyPage{.limit = page.limit, .before = page.before},
                             {.limit = page.limit});
}

OneStatement revoke_api_key(const Input& input) {
  return OneStatement::no_content(query::ApiKeyRevoke{.key_id = input.path_value("key_id")});
}

}  // namespace hostler
