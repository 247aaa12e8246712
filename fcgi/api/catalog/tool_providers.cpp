// Tool providers of the platform and of organizations. Statements: sql/queries/tool_providers.sql.
#include "queries/tool_providers.h"
#include "fcgi/api/catalog/provider_input.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"

namespace hostler {
namespace {

OneStatement switch_provider(const Input& input, bool active) {
  return OneStatement::no_content(
      query::ToolProviderSwitch{.group = input.path_value("group"),
                                .provider = input.path_value("provider"),
                                .active = active});
}

}  // namespace

OneStatement list_tool_providers(const Input&) {
  return OneStatement::row(query::ToolProviderList{});
}

OneStatement activate_tool_provider(const Input& input) { return switch_provider(input, true); }

OneStatement deactivate_tool_provider(const Input& input) { return switch_provider(input, false); }

Task<Response> set_tool_credential(Call& call) {
  Fields fields = call.input.optional_body();
  std::optional<std::string> api_key =
      fields.nullable_text("api_key", {.min = 1, .max = 1000}).value;
  std::optional<std::string> written =
      fields.nullable_text("base_url", {.min = 1, .max = 2048}).value;
  std::optional<std::string> base_url = co_await read_base_url(call, fields, std::move(written));
  fields.check();
  // Nothing is written, and nothing is wrong (contract section 5): the guard knew the provider.
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
