// LLM providers of the platform and of organizations. Statements: sql/queries/llm_catalog.sql.
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/one_statement.h"
#include "fcgi/provider_input.h"
#include "fcgi/services.h"
#include "lib/json.h"
#include "queries/llm_catalog.h"

namespace hostler {
namespace {

constexpr TextBounds name_bounds{.least = 1, .most = 200, .trims = true};
constexpr TextBounds key_bounds{.least = 1, .most = 4096};
constexpr TextBounds url_bounds{.least = 1, .most = 2048};

void add_text(JsonWriter& json, std::string_view name, const std::optional<std::string>& value) {
  json.key(name);
  if (value) {
    json.text(*value);
  } else {
    json.null();
  }
}

}  // namespace

Task<Response> list_llm_providers(Services& services, Request& request) {
  return list_page(services, request, query::llm_provider_page);
}

Task<Response> create_llm_provider(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::string name = fields.required_text("name", name_bounds);
  std::string kind = fields.required_choice("provider_kind", {"openai", "anthropic"});
  std::optional<std::string> api_key = fields.optional_text("api_key", key_bounds);
  std::optional<std::string> written = fields.optional_text("base_url", url_bounds);
  std::optional<std::string> base_url =
      co_await read_base_url(services, request, fields, std::move(written));
  fields.check();

  std::optional<NewSecret> secret;
  if (api_key) {
    NewSecret made = co_await seal_key(services, request, "llm_provider", *api_key);
    secret = std::move(made);
  }
  JsonWriter wanted;
  wanted.begin_object().member("name", name).member("provider_kind", kind);
  add_text(wanted, "base_url", base_url);
  add_text(wanted, "key_prefix", secret ? std::optional(secret->key_prefix) : std::nullopt);
  wanted.end_object();
  Params params;
  params.text(wanted.take());
  params.text_or_null(secret ? std::optional(secret->json) : std::nullopt);
  Result made = co_await services.query(request, query::llm_provider_create, std::move(params));
  co_return Response::json_row(201, std::move(made));
}

Task<Response> update_llm_provider(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::optional<std::string> name = fields.optional_text("name", name_bounds);
  std::optional<std::string> kind =
      fields.optional_choice("provider_kind", {"openai", "anthropic"});
  Nullable<std::string> api_key = fields.nullable_text("api_key", key_bounds);
  Nullable<std::string> written = fields.nullable_text("base_url", url_bounds);
  std::optional<std::string> base_url =
      co_await read_base_url(services, request, fields, written.value);
  fields.check_patch();

  std::optional<NewSecret> secret;
  if (api_key.value) {
    NewSecret made = co_await seal_key(services, request, "llm_provider", *api_key.value);
    secret = std::move(made);
  }
  JsonWriter changes;
  changes.begin_object();
  if (name) changes.member("name", *name);
  if (kind) changes.member("provider_kind", *kind);
  if (written.is_given) add_text(changes, "base_url", base_url);
  if (api_key.is_given) {
    add_text(changes, "key_prefix", secret ? std::optional(secret->key_prefix) : std::nullopt);
  }
  changes.end_object();
  Params params;
  params.text(request.path_value("provider_id")).text(changes.take());
  params.text_or_null(secret ? std::optional(secret->json) : std::nullopt);
  Result changed = co_await services.query(request, query::llm_provider_update, std::move(params));
  co_return Response::json_row(200, std::move(changed));
}

Task<Response> delete_llm_provider(Services& services, Request& request) {
  Params params;
  params.text(request.path_value("provider_id"));
  co_await services.query(request, query::llm_provider_delete, std::move(params));
  co_return Response::no_content();
}

}  // namespace hostler
