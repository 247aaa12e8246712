// LLM providers of the platform and of organizations. Statements: sql/queries/llm_catalog.sql.
#include "fcgi/api/catalog/model_base_url.h"
#include "fcgi/api/catalog/provider_input.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "lib/json.h"
#include "queries/llm_catalog.h"

namespace hostler {
namespace {

constexpr TextBounds name_bounds{.min = 1, .max = 200, .trims = true, .is_name = true};
// Blanks around a key come from where it was copied; a server takes none.
constexpr TextBounds key_bounds{.min = 1, .max = 4096, .trims = true};
constexpr TextBounds url_bounds{.min = 1, .max = 2048, .trims = true};

void add_text(JsonWriter& json, std::string_view name, const std::optional<std::string>& value) {
  json.key(name);
  if (value) {
    json.text(*value);
  } else {
    json.null();
  }
}

// Which of them is meant is known where the provider's kind is, when the change names none.
void add_base_urls(JsonWriter& json, const std::string& base_url) {
  json.key("base_urls").begin_object();
  for (std::string_view kind : {"openai", "anthropic"}) {
    json.member(kind, corrected_base_url(kind, base_url));
  }
  json.end_object();
}

}  // namespace

OneStatement list_llm_providers(const Input& input) {
  Page page = input.page();
  return OneStatement::items(input,
                             query::LlmProviderPage{.limit = page.limit, .before = page.before},
                             {.limit = page.limit});
}

Task<Response> create_llm_provider(Call& call) {
  Fields fields = call.input.body();
  std::string name = fields.required_text("name", name_bounds);
  std::string kind = fields.required_choice("provider_kind", {"openai", "anthropic"});
  std::optional<std::string> api_key = fields.nullable_text("api_key", key_bounds).value;
  check_key(fields, api_key);
  std::optional<std::string> written = fields.nullable_text("base_url", url_bounds).value;
  std::optional<std::string> base_url = co_await read_base_url(call, fields, std::move(written));
  fields.check();

  if (base_url) base_url = corrected_base_url(kind, *base_url);
  ProviderKey key = seal_key(call, "llm_provider", api_key);
  JsonWriter wanted;
  wanted.begin_object().member("name", name).member("provider_kind", kind);
  add_text(wanted, "base_url", base_url);
  add_text(wanted, "key_prefix", key.prefix);
  wanted.end_object();
  postgres::BoundStatement adding =
      query::LlmProviderCreate{.wanted = wanted.take(), .secret = key.secret};
  postgres::Result created = co_await call.database.query(std::move(adding));
  co_return Response::json_row(201, std::move(created));
}

Task<Response> update_llm_provider(Call& call) {
  Fields fields = call.input.body();
  std::optional<std::string> name = fields.optional_text("name", name_bounds);
  std::optional<std::string> kind =
      fields.optional_choice("provider_kind", {"openai", "anthropic"});
  Nullable<std::string> api_key = fields.nullable_text("api_key", key_bounds);
  check_key(fields, api_key.value);
  Nullable<std::string> written = fields.nullable_text("base_url", url_bounds);
  std::optional<std::string> base_url = co_await read_base_url(call, fields, written.value);
  fields.check_patch();

  ProviderKey key = seal_key(call, "llm_provider", api_key.value);
  JsonWriter changes;
  changes.begin_object();
  if (name) changes.member("name", *name);
  if (kind) changes.member("provider_kind", *kind);
  if (written.is_given) add_text(changes, "base_url", base_url);
  if (base_url) add_base_urls(changes, *base_url);
  if (api_key.is_given) add_text(changes, "key_prefix", key.prefix);
  changes.end_object();
  postgres::BoundStatement changing =
      query::LlmProviderUpdate{.provider_id = call.input.path_value("provider_id"),
                               .changes = changes.take(),
                               .secret = key.secret};
  postgres::Result changed = co_await call.database.query(std::move(changing));
  co_return Response::json_row(200, std::move(changed));
}

OneStatement delete_llm_provider(const Input& input) {
  return OneStatement::no_content(
      query::LlmProviderDelete{.provider_id = input.path_value("provider_id")});
}

}  // namespace hostler
