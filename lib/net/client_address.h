// Which address a client has (contract section 7): one resolver for pool and daemon, so that
// rules, limits, captcha, audit, sessions and access log speak of the same one. Pure: what nginx
// said goes in, an address comes out. It never believes a header of a peer that is not trusted.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/net/address_guard.h"

namespace hostler::net {

// direct: the peer. proxy: X-Forwarded-For of a trusted peer. cdn: its CF-Connecting-IP.
enum class IpMode { direct, proxy, cdn };

// "direct", "proxy" or "cdn"; anything else is our own mistake.
IpMode ip_mode_named(std::string_view name);

// Values that nginx passes on about the origin of a request; absent ones are empty. Several lines
// of X-Forwarded-For are one list, because nginx joins them.
struct AddressHeaders {
  std::string_view peer;  // REMOTE_ADDR
  std::string_view forwarded_for;
  std::string_view connecting_ip;
};

struct AddressPolicy {
  IpMode mode = IpMode::direct;
  CidrList trusted;  // empty: nobody

  // Whether the peer is a proxy whose headers count.
  bool trusts(std::string_view peer) const;
};

// A client's address in its shortest form, IPv4 in IPv6 as IPv4. Without a usable header the peer,
// "0.0.0.0", which is nobody's, when not even that is an address (nginx on a Unix socket).
std::string client_address(const AddressPolicy& policy, const AddressHeaders& headers);

// One address as proxies write it: with spaces around, with a port, IPv6 in brackets. Nothing for
// everything else.
std::optional<IpAddress> parse_hop(std::string_view text);

// A CIDR as rules are stored: host bits cut, a bare address with /32 or /128, IPv4 in IPv6 as IPv4.
// Nothing when it is malformed.
std::optional<std::string> canonical_network(std::string_view text);

// Whether a CIDR as canonical_network() answers it is wider than /8, as no network that somebody
// has is: /0 is everybody, and so are two halves.
bool is_too_wide(std::string_view canonical);

}  // namespace hostler::net
