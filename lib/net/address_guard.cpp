// The table of networks that are not public, from the IANA special-purpose registries (RFC 6890 and
// its updates). See lib/net/address_guard.h.
#include "lib/net/address_guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace hostler::net {
namespace {

struct Row {
  const char* network;
  int prefix_bits;
  AddressKind kind;
};

// IPv4: everything that is not listed is public.
constexpr Row rows_v4[] = {
    {"0.0.0.0", 8, AddressKind::this_network},
    {"10.0.0.0", 8, AddressKind::private_net},
    {"100.64.0.0", 10, AddressKind::shared},
    {"127.0.0.0", 8, AddressKind::loopback},
    {"168.63.129.16", 32, AddressKind::platform},  // Azure's host agent
    {"169.254.0.0", 16, AddressKind::link_local},  // with the clouds' metadata services
    {"172.16.0.0", 12, AddressKind::private_net},
    {"192.0.0.0", 24, AddressKind::reserved},  // RFC 6890
    {"192.0.2.0", 24, AddressKind::documentation},
    {"192.88.99.0", 24, AddressKind::wraps_ipv4},  // 6to4 relays, RFC 7526
    {"192.168.0.0", 16, AddressKind::private_net},
    {"198.18.0.0", 15, AddressKind::benchmark},
    {"198.51.100.0", 24, AddressKind::documentation},
    {"203.0.113.0", 24, AddressKind::documentation},
    {"224.0.0.0", 4, AddressKind::multicast},
    {"240.0.0.0", 4, AddressKind::reserved},  // with 255.255.255.255
};

// IPv6: the first row that holds the address counts; only 2000::/3 is given out at all.
constexpr Row rows_v6[] = {
    {"::", 128, AddressKind::this_network},        {"::1", 128, AddressKind::loopback},
    {"::", 96, AddressKind::wraps_ipv4},            // IPv4-compatible
    {"::ffff:0:0", 96, AddressKind::wraps_ipv4},    // IPv4-mapped
    {"::ffff:0:0:0", 96, AddressKind::wraps_ipv4},  // IPv4-translated, RFC 7915
    {"64:ff9b::", 96, AddressKind::wraps_ipv4},     // NAT64
    {"64:ff9b:1::", 48, AddressKind::wraps_ipv4},   // local NAT64, RFC 8215
    {"100::", 64, AddressKind::reserved},           // discard only
    {"2001::", 32, AddressKind::wraps_ipv4},        // Teredo
    {"2001:2::", 48, AddressKind::benchmark},      {"2001:db8::", 32, AddressKind::documentation},
    {"2001::", 23, AddressKind::reserved},       // protocol assignments
    {"2002::", 16, AddressKind::wraps_ipv4},     // 6to4
    {"3ffe::", 16, AddressKind::reserved},       // 6bone, given back
    {"3fff::", 20, AddressKind::documentation},  // RFC 9637
    {"fc00::", 7, AddressKind::private_net},       {"fe80::", 10, AddressKind::link_local},
    {"fec0::", 10, AddressKind::private_net},  // site-local, RFC 3879
    {"ff00::", 8, AddressKind::multicast},
};
constexpr Row rows_v6_public[] = {{"2000::", 3, AddressKind::global}};

bool same_prefix(const uint8_t* a, const uint8_t* b, int prefix_bits) {
  int whole = prefix_bits / 8;
  int rest = prefix_bits % 8;
  if (std::memcmp(a, b, static_cast<size_t>(whole)) != 0) return false;
  if (rest == 0) return true;
  int mask = (0xff << (8 - rest)) & 0xff;
  return (a[whole] & mask) == (b[whole] & mask);
}

struct ParsedRow {
  IpAddress network;
  int prefix_bits;
  AddressKind kind;
};

template <size_t count>
std::vector<ParsedRow> parse_rows(const Row (&rows)[count]) {
  std::vector<ParsedRow> parsed;
  for (const Row& row : rows) {
    parsed.push_back({IpAddress::parse(row.network).value(), row.prefix_bits, row.kind});
  }
  return parsed;
}

std::optional<AddressKind> first_match(const std::vector<ParsedRow>& rows,
                                       const IpAddress& address) {
  for (const ParsedRow& row : rows) {
    if (same_prefix(row.network.bytes.data(), address.bytes.data(), row.prefix_bits)) {
      return row.kind;
    }
  }
  return std::nullopt;
}

// An interface identifier of the form 0:5efe:a.b.c.d or 200:5efe:a.b.c.d (ISATAP, RFC 5214).
bool is_isatap(const IpAddress& address) {
  const std::array<uint8_t, 16>& b = address.bytes;
  return (b[8] & 0xfd) == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe;
}

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
    if (text.find(':') == std::string_view::npos) return std::nullopt;
  }
  if (text.size() > 45 || text.find('\0') != std::string_view::npos) return std::nullopt;
  std::string terminated(text);
  IpAddress address;
  address.is_v4 = text.find(':') == std::string_view::npos;
  int family = address.is_v4 ? AF_INET : AF_INET6;
  if (inet_pton(family, terminated.c_str(), address.bytes.data()) != 1) return std::nullopt;
  return address;
}

std::optional<IpAddress> IpAddress::from_socket(const sockaddr* address) {
  IpAddress result;
  if (address->sa_family == AF_INET) {
    const sockaddr_in* v4 = reinterpret_cast<const sockaddr_in*>(address);
    std::memcpy(result.bytes.data(), &v4->sin_addr, 4);
    return result;
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  const sockaddr_in6* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  std::memcpy(result.bytes.data(), &v6->sin6_addr, 16);
  result.is_v4 = false;
  return result;
}

std::string IpAddress::text() const {
  char written[INET6_ADDRSTRLEN] = {};
  inet_ntop(is_v4 ? AF_INET : AF_INET6, bytes.data(), written, sizeof written);
  return written;
}

AddressKind kind_of_address(const IpAddress& address) {
  static const std::vector<ParsedRow> v4 = parse_rows(rows_v4);
  static const std::vector<ParsedRow> v6 = parse_rows(rows_v6);
  static const std::vector<ParsedRow> v6_public = parse_rows(rows_v6_public);
  if (address.is_v4) return first_match(v4, address).value_or(AddressKind::global);
  if (std::optional<AddressKind> special = first_match(v6, address)) return *special;
  if (is_isatap(address)) return AddressKind::wraps_ipv4;
  return first_match(v6_public, address).value_or(AddressKind::reserved);
}

std::string_view address_kind_name(AddressKind kind) {
  switch (kind) {
    case AddressKind::global:
      return "public";
    case AddressKind::this_network:
      return "unspecified";
    case AddressKind::loopback:
      return "loopback";
    case AddressKind::private_net:
      return "private";
    case AddressKind::shared:
      return "shared (carrier-grade NAT)";
    case AddressKind::link_local:
      return "link-local";
    case AddressKind::multicast:
      return "multicast";
    case AddressKind::documentation:
      return "documentation";
    case AddressKind::benchmark:
      return "benchmark";
    case AddressKind::wraps_ipv4:
      return "IPv4 in IPv6";
    case AddressKind::platform:
      return "cloud platform";
    case AddressKind::reserved:
      return "reserved";
  }
  return "unknown";
}

std::optional<CidrList> CidrList::parse(const std::vector<std::string>& texts) {
  CidrList list;
  for (const std::string& text : texts) {
    if (!list.add(text)) return std::nullopt;
  }
  return list;
}

bool CidrList::add(std::string_view text) {
  size_t slash = text.find('/');
  std::optional<IpAddress> address = IpAddress::parse(text.substr(0, slash));
  if (!address || text.starts_with('[')) return false;
  int bits_max = address->is_v4 ? 32 : 128;
  int prefix_bits = bits_max;
  if (slash != std::string_view::npos) {
    std::string_view digits = text.substr(slash + 1);
    auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix_bits);
    if (fault != std::errc() || end != digits.data() + digits.size()) return false;
    if (digits.empty() || digits.front() == '-' || prefix_bits > bits_max) return false;
  }
  networks_.push_back({*address, prefix_bits});
  return true;
}

bool CidrList::contains(const IpAddress& address) const {
  return std::any_of(networks_.begin(), networks_.end(), [&](const Network& network) {
    return network.address.is_v4 == address.is_v4 &&
           same_prefix(network.address.bytes.data(), address.bytes.data(), network.prefix_bits);
  });
}

std::optional<AddressKind> refused_address(const IpAddress& address, const CidrList& allowed) {
  AddressKind kind = kind_of_address(address);
  if (kind == AddressKind::global || allowed.contains(address)) return std::nullopt;
  return kind;
}

bool is_service_port(int port) {
  if (port < 1024) return port != 80 && port != 443;
  constexpr int above[] = {1433, 1521, 1719, 1720, 1723,  2049,  2375, 2376, 2379, 2380,
                           3306, 3389, 3659, 4045, 4190,  5060,  5061, 5432, 5672, 5984,
                           5985, 6000, 6379, 6566, 6665,  6666,  6667, 6668, 6669, 6679,
                           6697, 9042, 9092, 9200, 10250, 11211, 27017};
  return std::find(std::begin(above), std::end(above), port) != std::end(above);
}

bool ends_in_number(std::string_view host) {
  while (host.ends_with('.')) host.remove_suffix(1);
  std::string_view last = host.substr(host.rfind('.') + 1);
  return !last.empty() && last[0] >= '0' && last[0] <= '9';
}

}  // namespace hostler::net
