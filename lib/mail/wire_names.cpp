// See lib/mail/wire_names.h.
#include "lib/mail/wire_names.h"

#include "lib/host_name.h"
#include "lib/http/client_url.h"

namespace hostler::mail {

std::optional<std::string> wire_address(std::string_view address) {
  size_t at = address.rfind('@');
  if (at == address.npos) return std::nullopt;
  std::optional<std::string> domain = a_label_host(address.substr(at + 1));
  if (!domain) return std::nullopt;
  return std::string(address.substr(0, at + 1)) + *domain;
}

std::string greeting_name(std::string_view helo, std::string_view site_url) {
  std::string host(helo);
  if (host.empty()) {
    std::optional<http::HttpUrl> site = http::parse_http_url(site_url);
    if (site) host = site->host;
  }
  if (is_address_literal(host)) {
    return host.find(':') == host.npos ? "[" + host + "]" : "[IPv6:" + host + "]";
  }
  while (host.ends_with('.')) host.pop_back();
  return a_label_host(host).value_or("");
}

}  // namespace hostler::mail
