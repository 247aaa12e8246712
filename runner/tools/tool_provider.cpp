// See runner/tools/tool_provider.h.
#include "runner/tools/tool_provider.h"

#include <array>

#include "lib/config/live_settings.h"
#include "lib/config/stored_secret.h"
#include "lib/log.h"
#include "lib/postgres/with_retry.h"
#include "queries/tool_providers.h"

namespace hostler::runner {
namespace {

struct BackendRow {
  Backend backend;
  std::string_view name;
  std::string_view provider_name;  // in the table tool_providers
  std::string_view base_url;       // where it is unless an address is set
};
constexpr std::array backends = std::to_array<BackendRow>({
    {Backend::alpha, "alpha", "web_search.alpha", "https://api.tavily.com"},
    {Backend::beta, "beta", "web_search.beta", ""},
    {Backend::gamma, "gamma", "web_fetch.gamma", "https://r.jina.ai"},
    {Backend::delta, "delta", "web_fetch.delta", "https://api.firecrawl.dev"},
    {Backend::basic, "basic", "", ""},
});

const BackendRow& row_of(Backend backend) { return backends[static_cast<size_t>(backend)]; }

void log_unusable(const ToolContext& context, const std::string& group, std::string why) {
  log_warning("tool_not_configured", {{"trace_id", context.trace_id},
                                      {"run_id", context.run_id},
                                      {"org_id", context.org_id},
                                      {"tool_name", group},
                                      {"why", std::move(why)}});
}

ToolProvider provider_at(Backend backend, std::string base_url, std::string api_key, bool guarded) {
  ToolProvider provider;
  provider.backend = backend;
  provider.base_url = base_url.empty() ? std::string(row_of(backend).base_url) : base_url;
  while (provider.base_url.ends_with('/')) provider.base_url.pop_back();
  provider.api_key = std::move(api_key);
  provider.guarded = guarded;
  return provider;
}

// A row of query::tool_provider_resolve.
std::optional<ToolProvider> provider_of(const postgres::Row& row, const config::SecretBox& secrets,
                                        std::string& why) {
  std::string_view name = row.text("provider_name");
  const BackendRow* found = nullptr;
  for (const BackendRow& known : backends) {
    if (known.provider_name == name) found = &known;
  }
  if (found == nullptr || !row.boolean("is_configured")) {
    why = std::string(name) + " is active and lacks its key or address";
    return std::nullopt;
  }
  std::string api_key;
  if (!row.is_null("secret_id")) {
    config::SecretIdentity identity{std::string(row.text("secret_id")),
                                    std::string(row.text("secret_org_id")), "tool_provider"};
    std::optional<std::string> opened = secrets.open(identity, config::stored_secret(row));
    if (!opened) {
      why = "the key file does not open the key of " + std::string(name);
      return std::nullopt;
    }
    api_key = std::move(*opened);
  }
  std::string base_url(row.text("base_url"));
  bool is_own = row.boolean("is_org_scope");
  ToolProvider provider =
      provider_at(found->backend, std::move(base_url), std::move(api_key), is_own);
  provider.is_own = is_own;
  return provider;
}

// The operator's own settings, so nothing is guarded but what basic fetches.
std::optional<ToolProvider> legacy_search(const config::Settings& settings) {
  const std::string& choice = settings.text("web_search.provider");
  const std::string& alpha_key = settings.text("web_search.alpha_api_key");
  const std::string& beta_url = settings.text("web_search.beta_base_url");
  if (choice == "alpha" && !alpha_key.empty()) {
    return provider_at(Backend::alpha, "", alpha_key, false);
  }
  if (choice == "beta" && !beta_url.empty()) {
    return provider_at(Backend::beta, beta_url, "", false);
  }
  return std::nullopt;
}

std::optional<ToolProvider> legacy_fetch(const config::Settings& settings) {
  const std::string& choice = settings.text("web_fetch.provider");
  const std::string& gamma_key = settings.text("web_fetch.gamma_api_key");
  const std::string& delta_key = settings.text("web_fetch.delta_api_key");
  if (choice == "gamma" && !gamma_key.empty()) {
    return provider_at(Backend::gamma, "", gamma_key, false);
  }
  if (choice == "delta" && !delta_key.empty()) {
    return provider_at(Backend::delta, settings.text("web_fetch.delta_base_url"), delta_key, false);
  }
  if (choice == "basic") return provider_at(Backend::basic, "", "", true);
  return std::nullopt;
}

std::optional<ToolProvider> legacy_provider(const config::Settings& settings,
                                            std::string_view group) {
  return group == "web_search" ? legacy_search(settings) : legacy_fetch(settings);
}

}  // namespace

std::string_view backend_name(Backend backend) { return row_of(backend).name; }

Task<std::optional<ToolProvider>> resolve_tool_provider(ToolServices& services, ToolContext context,
                                                        std::string group) {
  postgres::Batch ask;
  ask.add(query::ToolProviderResolve{.org_id = context.org_id, .group = group});
  Task<postgres::Results> asked =
      postgres::pipelined_with_retry(services.loop, services.db, std::move(ask));
  postgres::Results results = co_await asked;
  const postgres::Result& rows = results.at(0);
  std::string why = "no provider is active, and the settings have no complete one";
  std::optional<ToolProvider> provider;
  if (!rows.empty()) {
    provider = provider_of(rows.front(), services.secrets, why);
  } else {
    provider = legacy_provider(*services.settings.current(), group);
  }
  if (!provider) log_unusable(context, group, std::move(why));
  co_return provider;
}

bool is_served_by_settings(const config::Settings& settings, std::string_view group) {
  return legacy_provider(settings, group).has_value();
}

Task<std::vector<GroupChoice>> choose_tool_providers(ToolServices& services, std::string org_id,
                                                     std::vector<std::string> groups) {
  postgres::Batch ask;
  for (const std::string& group : groups) {
    ask.add(query::ToolProviderResolve{.org_id = org_id, .group = group});
  }
  Task<postgres::Results> asked =
      postgres::pipelined_with_retry(services.loop, services.db, std::move(ask));
  postgres::Results results = co_await asked;
  std::vector<GroupChoice> choices;
  std::string why;
  for (const postgres::Result& rows : results) {
    bool is_chosen = !rows.empty();
    bool is_usable = is_chosen && provider_of(rows.front(), services.secrets, why);
    choices.push_back(!is_chosen  ? GroupChoice::by_settings
                      : is_usable ? GroupChoice::served
                                  : GroupChoice::unserved);
  }
  co_return choices;
}

}  // namespace hostler::runner
