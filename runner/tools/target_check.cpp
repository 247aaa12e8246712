// See runner/tools/target_check.h.
#include "runner/tools/target_check.h"

#include <algorithm>
#include <utility>

#include "lib/net/name_lookup.h"
#include "lib/net/own_address.h"

namespace hostler::runner {
namespace {

bool is_refused(const net::IpAddress& address, int port, const net::CidrList& allowed) {
  if (allowed.contains(address)) return false;
  return net::refused_address(address, allowed).has_value() || net::is_closed_port(address, port);
}

// A name that is no public site's: of one word, or under a suffix that RFC 6761, 6762 or 8375 sets
// aside for local use. What does not resolve here may resolve where the reader is.
bool is_local_name(std::string_view host) {
  if (net::ends_in_number(host)) return true;
  while (host.ends_with('.')) host.remove_suffix(1);
  for (std::string_view suffix : {".localhost", ".local", ".internal", ".home.arpa"}) {
    if (host.ends_with(suffix)) return true;
  }
  return host.find('.') == std::string_view::npos;
}

}  // namespace

Task<std::optional<std::string>> check_target(loop::Loop& loop, std::string url,
                                              net::CidrList allowed, int64_t lookup_limit_ms,
                                              std::shared_ptr<void> kept) {
  std::optional<http::HttpUrl> target = http::parse_http_url(url);
  if (!target || target->has_user_info) co_return std::nullopt;
  std::vector<net::IpAddress> addresses;
  std::optional<net::IpAddress> literal = net::IpAddress::parse(target->host);
  if (literal) {
    addresses.push_back(*literal);
  } else {
    addresses = co_await net::look_up_name(loop, target->host, lookup_limit_ms, std::move(kept));
  }
  bool is_denied = std::any_of(
      addresses.begin(), addresses.end(),
      [&](const net::IpAddress& address) { return is_refused(address, target->port, allowed); });
  if (addresses.empty()) {
    is_denied = net::is_service_port(target->port) || is_local_name(target->host);
  }
  if (is_denied) co_return std::nullopt;
  co_return target->text;
}

}  // namespace hostler::runner
