// See fcgi/http/address_check.h.
#include "fcgi/http/address_check.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "lib/net/address_guard.h"
#include "lib/net/name_lookup.h"

namespace hostler {
namespace {

constexpr int64_t lookup_limit_ms = 2000;

bool are_all_denied(const std::vector<net::IpAddress>& addresses, bool is_port_denied,
                    const config::Settings& settings) {
  net::CidrList allowed =
      net::CidrList::parse(settings.strings("outbound.allow_cidrs")).value_or(net::CidrList());
  return std::all_of(addresses.begin(), addresses.end(), [&](const net::IpAddress& address) {
    if (allowed.contains(address)) return false;
    return is_port_denied || net::refused_address(address, allowed).has_value();
  });
}

}  // namespace

Task<bool> is_denied_to_tenants(const Call& call, http::HttpUrl url, PortsDenied ports) {
  std::vector<net::IpAddress> addresses;
  std::optional<net::IpAddress> literal = net::IpAddress::parse(url.host);
  if (literal) {
    addresses.push_back(*literal);
  } else {
    addresses = co_await net::look_up_name(call.loop, url.host, lookup_limit_ms);
  }
  bool is_port_denied = ports == PortsDenied::of_services && net::is_service_port(url.port);
  co_return !addresses.empty() && are_all_denied(addresses, is_port_denied, call.input.settings);
}

}  // namespace hostler
