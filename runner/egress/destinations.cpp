// See runner/egress/destinations.h.
#include "runner/egress/destinations.h"

#include <optional>

#include "lib/ascii.h"
#include "lib/host_name.h"
#include "lib/http/client_url.h"
#include "lib/net/address_guard.h"

namespace hostler::runner {
namespace {

// Writes them like the reader of requests, so that both compare.
SocksTarget target_of(const std::string& host, int port) {
  std::optional<net::IpAddress> address = net::IpAddress::parse(host);
  if (address) return {address->text(), port};
  std::string name = ascii::lower_case(a_label_host(host).value_or(host));
  if (name.ends_with('.')) name.pop_back();
  return {std::move(name), port};
}

}  // namespace

std::vector<SocksTarget> egress_destinations(const config::Settings& settings,
                                             const mail::MailSettings& mail) {
  std::vector<SocksTarget> allowed;
  bool captcha_is_on =
      !settings.text("captcha.site_key").empty() && !settings.text("captcha.secret_key").empty();
  std::optional<http::HttpUrl> url = http::parse_http_url(settings.text("captcha.verify_url"));
  if (captcha_is_on && url) allowed.push_back(target_of(url->host, url->port));
  if (mail.is_configured() && !mail.server.host.empty()) {
    allowed.push_back(target_of(mail.server.host, mail.server.port));
  }
  return allowed;
}

}  // namespace hostler::runner
