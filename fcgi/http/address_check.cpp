// See fcgi/http/address_check.h.
#include "fcgi/http/address_check.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/net/address_guard.h"
#include "lib/net/name_lookup.h"
#include "lib/net/own_address.h"

namespace hostler {
namespace {

// The call may hold a connection to Postgres meanwhile (Idempotency-Key). A name that takes longer
// is checked when it is dialled, as all are.
constexpr int64_t lookup_limit_ms = 500;

net::CidrList allowed_ones(const config::Settings& settings) {
  return net::CidrList::parse(settings.strings("outbound.allow_cidrs")).value_or(net::CidrList());
}

Task<std::vector<net::IpAddress>> addresses_of(loop::Loop& loop, std::string host) {
  std::optional<net::IpAddress> literal = net::IpAddress::parse(host);
  if (literal) co_return std::vector<net::IpAddress>(1, *literal);
  std::vector<net::IpAddress> found = co_await net::look_up_name(loop, host, lookup_limit_ms);
  co_return found;
}

bool are_all_denied(const std::vector<net::IpAddress>& addresses, int port,
                    const config::Settings& settings) {
  net::CidrList allowed = allowed_ones(settings);
  return std::all_of(addresses.begin(), addresses.end(), [&](const net::IpAddress& address) {
    if (allowed.contains(address)) return false;
    return net::refused_address(address, allowed).has_value() || net::is_closed_port(address, port);
  });
}

}  // namespace

bool has_sound_form(std::string_view written, const http::HttpUrl& url) {
  auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (!std::all_of(written.begin(), written.end(), is_ascii)) return false;
  if (net::IpAddress::parse(url.host)) return true;
  constexpr size_t name_bytes_max = 253;
  constexpr size_t label_bytes_max = 63;
  std::string_view rest = url.host;
  if (rest.ends_with('.')) rest.remove_suffix(1);
  if (rest.size() > name_bytes_max || net::ends_in_number(rest)) return false;
  for (;;) {
    size_t end = std::min(rest.find('.'), rest.size());
    if (end == 0 || end > label_bytes_max) return false;
    if (end == rest.size()) return true;
    rest.remove_prefix(end + 1);
  }
}

Task<bool> is_denied_to_tenants(loop::Loop& loop, const config::Settings& settings,
                                http::HttpUrl url) {
  std::vector<net::IpAddress> addresses = co_await addresses_of(loop, url.host);
  if (addresses.empty()) co_return net::is_service_port(url.port);
  co_return are_all_denied(addresses, url.port, settings);
}

Task<bool> is_allowed_by_name(loop::Loop& loop, const config::Settings& settings,
                              http::HttpUrl url) {
  std::vector<net::IpAddress> addresses = co_await addresses_of(loop, url.host);
  net::CidrList allowed = allowed_ones(settings);
  bool is_every = std::all_of(addresses.begin(), addresses.end(),
                              [&](const net::IpAddress& one) { return allowed.contains(one); });
  co_return !addresses.empty() && is_every;
}

}  // namespace hostler
