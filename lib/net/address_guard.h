// Which addresses a tenant may make us dial (contract section 5): only public unicast. Pure values
// and verdicts; the HTTP client asks for every address it really dials, handlers ask for address
// literals at write. Never resolves names, never opens a socket.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sockaddr;

namespace hostler::net {

// An IPv4 or IPv6 address. IPv4 stays IPv4; an IPv6 form that wraps one is IPv6.
struct IpAddress {
  std::array<uint8_t, 16> bytes{};  // network order; IPv4 uses the first four
  bool is_v4 = true;

  // Dotted quads of four decimal parts, and IPv6 with or without brackets; a zone id is refused.
  static std::optional<IpAddress> parse(std::string_view text);
  static std::optional<IpAddress> from_socket(const sockaddr* address);
  std::string text() const;
  bool operator==(const IpAddress&) const = default;
};

enum class AddressKind {
  global,        // the only one a tenant may dial
  this_network,  // 0.0.0.0/8 and ::
  loopback,
  private_net,  // RFC 1918, fc00::/7, fec0::/10
  shared,       // carrier-grade NAT, RFC 6598
  link_local,
  multicast,
  documentation,
  benchmark,
  wraps_ipv4,  // mapped, compatible, 6to4, Teredo, NAT64, ISATAP: a second way to write an address
  platform,    // a cloud's own service on an otherwise public address
  reserved,
};

AddressKind kind_of_address(const IpAddress& address);
std::string_view address_kind_name(AddressKind kind);

// Whether the last word of a host begins with a digit: an IPv4 address for some readers (WHATWG
// URL, 4.3), also in forms that IpAddress does not take, such as "127.0x1." No public suffix does.
bool ends_in_number(std::string_view host);

// Networks in CIDR form. The setting outbound.allow_cidrs and every other list of networks.
class CidrList {
 public:
  CidrList() = default;
  // A bare address is a /32 or /128, host bits are cut. Nothing when any entry is malformed.
  static std::optional<CidrList> parse(const std::vector<std::string>& texts);
  bool add(std::string_view text);
  // IPv4 networks hold only IPv4 addresses: ::ffff:127.0.0.1 is not within 127.0.0.0/8.
  bool contains(const IpAddress& address) const;
  bool empty() const { return networks_.empty(); }

 private:
  struct Network {
    IpAddress address;
    int prefix_bits = 0;
  };
  std::vector<Network> networks_;
};

// Why the address must not be dialled for a tenant, or nothing. What the list holds may be dialled.
std::optional<AddressKind> refused_address(const IpAddress& address, const CidrList& allowed);

// True for ports of well-known services that do not speak HTTP (mail, databases, remote shells): a
// tenant's URL must not make us talk to them, wherever they are.
bool is_service_port(int port);

}  // namespace hostler::net
