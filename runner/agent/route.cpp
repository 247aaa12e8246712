// See runner/agent/route.h.
#include "runner/agent/route.h"

#include "lib/config/stored_secret.h"
#include "runner/models/model_traits.h"

namespace hostler::runner {
namespace {

std::optional<std::string> api_key_of(const config::SecretBox& secrets, const postgres::Row& row) {
  if (row.is_null("secret_id")) return std::string();
  config::SecretIdentity identity{std::string(row.text("secret_id")),
                                  std::string(row.text("secret_org_id")),
                                  std::string(row.text("secret_kind"))};
  return secrets.open(identity, config::stored_secret(row));
}

}  // namespace

Route route_of(const config::SecretBox& secrets, const postgres::Row& row) {
  Route route;
  route.id = row.text("route_id");
  ModelEndpoint& endpoint = route.endpoint;
  bool is_anthropic = row.text("provider_kind") == "anthropic";
  endpoint.provider_kind = is_anthropic ? ProviderKind::anthropic : ProviderKind::openai;
  endpoint.base_url = row.text("base_url");
  endpoint.model = row.text("model");
  endpoint.guarded = row.boolean("is_org_scope");
  std::optional<std::string> key = api_key_of(secrets, row);
  route.has_readable_key = key.has_value();
  endpoint.api_key = key.value_or("");
  if (!row.is_null("learned")) {
    route.traits = traits_from(row.text("learned"), origin_of(endpoint.base_url, endpoint.model));
  }
  route.context_tokens = row.integer("context_tokens");
  if (!row.is_null("max_output_tokens")) route.max_output_tokens = row.integer("max_output_tokens");
  route.takes_images = row.boolean("takes_images");
  route.input_price = row.number("input_price");
  route.output_price = row.number("output_price");
  return route;
}

}  // namespace hostler::runner
