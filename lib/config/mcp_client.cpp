// See lib/config/mcp_client.h.
#include "lib/config/mcp_client.h"

namespace hostler::config {
namespace {

std::string site_url(const Settings& settings) {
  std::string url = settings.text("mail.site_url");
  while (url.ends_with('/')) url.pop_back();
  return url;
}

}  // namespace

std::string mcp_redirect_uri(const Settings& settings) {
  std::string site = site_url(settings);
  return site.empty() ? site : site + "/v1/auth/mcp/callback";
}

std::string mcp_client_id_url(const Settings& settings) {
  std::string elsewhere = settings.text("mcp.client_id_url");
  std::string url = elsewhere.empty() ? site_url(settings) + "/v1/mcp-client.json" : elsewhere;
  return url.starts_with("https://") ? url : std::string();
}

}  // namespace hostler::config
