// Tool providers of the platform and of organizations. Statements: sql/queries/tool_providers.sql.
#include "queries/tool_providers.h"

#include <fmt/format.h>

#include "fcgi/api/catalog/provider_input.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "lib/json.h"

namespace hostler {
namespace {

// Blanks around a key come from where it was copied; a server takes none.
constexpr TextBounds key_bounds{.min = 1, .max = 1000, .trims = true};

OneStatement switch_provider(const Input& input, bool active) {
  return OneStatement::no_content(
      query::ToolProviderSwitch{.group = input.path_value("group"),
                                .provider = input.path_value("provider"),
                                .active = active});
}

void add_choice(JsonWriter& json, std::string_view group, const std::string& choice,
                bool is_configured) {
  if (choice.empty()) return;
  json.key(group).begin_object().member("provider_name", fmt::format("{}.{}", group, choice));
  json.member("configured", is_configured).end_object();
}

// Provider that the settings choose, and whether it has everything it needs: the same decision as
// the daemon's if no provider is active (runner/tools/tool_provider).
std::string legacy_choices(const config::Settings& settings) {
  const std::string& search = settings.text("web_search.provider");
  const std::string& fetch = settings.text("web_fetch.provider");
  bool has_search = !(search == "alpha" ? settings.text("web_search.alpha_api_key")
                                        : settings.text("web_search.beta_base_url"))
                         .empty();
  bool has_fetch =
      fetch == "basic" || !(fetch == "gamma" ? settings.text("web_fetch.gamma_api_key")
                                             : settings.text("web_fetch.delta_api_key"))
                               .empty();
  JsonWriter json;
  json.begin_object();
  add_choice(json, "web_search", search, has_search);
  add_choice(json, "web_fetch", fetch, has_fetch);
  return json.end_object().take();
}

}  // namespace

OneStatement list_resolved_tool_providers(const Input& input) {
  return OneStatement::row(query::ToolProviderResolved{.legacy = legacy_choices(input.settings)});
}

OneStatement list_tool_providers(const Input&) {
  return OneStatement::row(query::ToolProviderList{});
}

OneStatement activate_tool_provider(const Input& input) { return switch_provider(input, true); }

OneStatement deactivate_tool_provider(const Input& input) { return switch_provider(input, false); }

Task<Response> set_tool_credential(Call& call) {
  Fields fields = call.input.optional_body();
  std::optional<std::string> api_key = fields.nullable_text("api_key", key_bounds).value;
  check_key(fields, api_key);
  std::optional<std::string> written =
      fields.nullable_text("base_url", {.min = 1, .max = 2048}).value;
  std::optional<std::string> base_url = co_await read_base_url(call, fields, std::move(written));
  fields.check();
  // A request without members writes nothing and has no fault (contract section 5): the guard knew
  // the provider.
  if (!api_key && !base_url) co_return Response::no_content();
  ProviderKey key = seal_key(call, "tool_provider", api_key);
  postgres::BoundStatement setting =
      query::ToolProviderCredentialSet{.group = call.input.path_value("group"),
                                       .provider = call.input.path_value("provider"),
                                       .base_url = base_url,
                                       .key_prefix = key.prefix,
                                       .secret = key.secret};
  co_await call.database.query(std::move(setting));
  co_return Response::no_content();
}

OneStatement delete_tool_credential(const Input& input) {
  return OneStatement::no_content(query::ToolProviderCredentialDelete{
      .group = input.path_value("group"), .provider = input.path_value("provider")});
}

}  // namespace hostler
