// Tool providers of the platform and of organizations. Statements: sql/queries/tool_providers.sql.
#include "queries/tool_providers.h"
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/one_statement.h"
#include "fcgi/provider_input.h"
#include "fcgi/services.h"

namespace hostler {
namespace {

Params path_params(const Request& request) {
  Params params;
  params.text(request.path_value("group")).text(request.path_value("provider"));
  return params;
}

Task<Response> switch_provider(Services& services, Request& request, bool active) {
  Params params = path_params(request);
  params.boolean(active);
  co_await services.query(request, query::tool_provider_switch, std::move(params));
  co_return Response::no_content();
}

}  // namespace

Task<Response> list_tool_providers(Services& services, Request& request) {
  return one_row(services, request, query::tool_provider_list);
}

Task<Response> activate_tool_provider(Services& services, Request& request) {
  Response response = co_await switch_provider(services, request, true);
  co_return response;
}

Task<Response> deactivate_tool_provider(Services& services, Request& request) {
  Response response = co_await switch_provider(services, request, false);
  co_return response;
}

Task<Response> set_tool_credential(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::optional<std::string> api_key = fields.optional_text("api_key", {.least = 1, .most = 1000});
  std::optional<std::string> written = fields.optional_text("base_url", {.least = 1, .most = 2048});
  std::optional<std::string> base_url =
      co_await read_base_url(services, request, fields, std::move(written));
  fields.check();
  if (!api_key && !base_url) {
    // Nothing is written, and nothing is wrong (contract section 5).
    Params names = path_params(request);
    co_await services.query(request, query::tool_provider_check, std::move(names));
    co_return Response::no_content();
  }
  std::optional<NewSecret> secret;
  if (api_key) {
    NewSecret made = co_await seal_key(services, request, "tool_provider", *api_key);
    secret = std::move(made);
  }
  Params params = path_params(request);
  params.text_or_null(base_url);
  params.text_or_null(secret ? std::optional(secret->key_prefix) : std::nullopt);
  params.text_or_null(secret ? std::optional(secret->json) : std::nullopt);
  co_await services.query(request, query::tool_provider_credential_set, std::move(params));
  co_return Response::no_content();
}

Task<Response> delete_tool_credential(Services& services, Request& request) {
  Params params = path_params(request);
  co_await services.query(request, query::tool_provider_credential_delete, std::move(params));
  co_return Response::no_content();
}

}  // namespace hostler
