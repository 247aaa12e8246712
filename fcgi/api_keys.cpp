// API keys of the caller, in the organization acted in. Statements: sql/queries/api_keys.sql. A key
// is shown once, when it is made; the database keeps its hash.
#include "queries/api_keys.h"
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/one_statement.h"
#include "fcgi/services.h"
#include "lib/crypto.h"
#include "lib/json.h"
#include "lib/permissions.h"
#include "lib/time_text.h"

namespace hostler {
namespace {

constexpr std::string_view key_beginning = "hst_";
constexpr size_t shown_characters = 8;  // of a key, in lists
constexpr size_t scopes_max = 50;

std::vector<std::string> read_scopes(Fields& fields) {
  std::optional<std::vector<std::string>> scopes =
      fields.optional_texts("scopes", scopes_max, {.least = 1, .most = 100});
  if (!scopes) return {};
  for (size_t i = 0; i < scopes->size(); ++i) {
    if (is_permission(scopes->at(i))) continue;
    fields.fault("scopes." + std::to_string(i), "unknown", "is no permission");
  }
  return std::move(*scopes);
}

std::optional<std::string> read_expiry(Fields& fields) {
  std::optional<std::string> expires_at = fields.optional_time("expires_at");
  if (!expires_at) return std::nullopt;
  std::optional<int64_t> moment_ms = parse_rfc3339(*expires_at);
  if (moment_ms && *moment_ms <= unix_now_ms()) {
    fields.fault("expires_at", "out_of_range", "must be in the future");
  }
  return expires_at;
}

}  // namespace

Task<Response> create_api_key(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  JsonWriter wanted;
  wanted.begin_object();
  wanted.member("name", fields.required_text("name", {.least = 1, .most = 200, .trims = true}));
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
  Params params;
  params.text(wanted.take()).bytes(key.hash);
  Result made = co_await services.query(request, query::api_key_create, std::move(params));
  co_return Response::json_row_with(201, made, "key", key.text);
}

Task<Response> list_api_keys(Services& services, Request& request) {
  return list_page(services, request, query::api_key_page);
}

Task<Response> revoke_api_key(Services& services, Request& request) {
  Params params;
  params.text(request.path_value("key_id"));
  co_await services.query(request, query::api_key_revoke, std::move(params));
  co_return Response::no_content();
}

}  // namespace hostler
