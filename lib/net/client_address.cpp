// The walk through the proxies; see lib/net/client_address.h.
#include "lib/net/client_address.h"

#include <algorithm>
#include <cassert>
#include <charconv>

#include <fmt/format.h>

#include "lib/ascii.h"

namespace hostler::net {
namespace {

constexpr int mapped_bits = 96;  // ::ffff:0:0/96, RFC 4291 section 2.5.5.2

bool is_mapped(const IpAddress& address) {
  const std::array<uint8_t, 16>& b = address.bytes;
  return !address.is_v4 &&
         std::all_of(b.begin(), b.begin() + 10, [](uint8_t x) { return x == 0; }) &&
         b[10] == 0xff && b[11] == 0xff;
}

// A dual-stack proxy writes ::ffff:192.0.2.1; rules are written for 192.0.2.1.
IpAddress unmapped(const IpAddress& address) {
  if (!is_mapped(address)) return address;
  IpAddress v4;
  std::copy_n(address.bytes.begin() + 12, 4, v4.bytes.begin());
  return v4;
}

// ":443"
bool is_port(std::string_view text) {
  if (text.size() < 2 || text.size() > 6 || text.front() != ':') return false;
  int port = 0;
  auto [end, fault] = std::from_chars(text.data() + 1, text.data() + text.size(), port);
  return fault == std::errc() && end == text.data() + text.size() && port >= 0 && port <= 65535;
}

// From the right: the first that is not trusted. What is no address ends the walk, the last good
// one counts; without any, nothing.
std::optional<IpAddress> forwarded_client(const CidrList& trusted, std::string_view list) {
  std::optional<IpAddress> last;
  bool is_done = ascii::trimmed(list, ascii::blanks).empty();
  while (!is_done) {
    size_t comma = list.rfind(',');
    std::string_view part = comma == list.npos ? list : list.substr(comma + 1);
    std::optional<IpAddress> hop = parse_hop(part);
    if (!hop) break;
    last = hop;
    is_done = comma == list.npos || !trusted.contains(*hop);
    if (comma != list.npos) list = list.substr(0, comma);
  }
  return last;
}

}  // namespace

IpMode ip_mode_named(std::string_view name) {
  if (name == "proxy") return IpMode::proxy;
  if (name == "cdn") return IpMode::cdn;
  assert(name == "direct");
  return IpMode::direct;
}

std::optional<IpAddress> parse_hop(std::string_view text) {
  text = ascii::trimmed(text, ascii::blanks);
  if (text.starts_with('[')) {
    size_t close = text.find(']');
    if (close == text.npos) return std::nullopt;
    std::string_view port = text.substr(close + 1);
    text = text.substr(1, close - 1);
    bool is_v6 = text.find(':') != text.npos && !text.starts_with('[');
    if (!is_v6 || (!port.empty() && !is_port(port))) return std::nullopt;
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    size_t colon = text.find(':');
    if (!is_port(text.substr(colon))) return std::nullopt;
    text = text.substr(0, colon);
  }
  std::optional<IpAddress> address = IpAddress::parse(text);
  if (!address) return std::nullopt;
  return unmapped(*address);
}

bool AddressPolicy::trusts(std::string_view peer) const {
  if (mode == IpMode::direct || trusted.empty()) return false;
  std::optional<IpAddress> address = parse_hop(peer);
  return address && trusted.contains(*address);
}

std::string client_address(const AddressPolicy& policy, const AddressHeaders& headers) {
  std::optional<IpAddress> client;
  if (policy.trusts(headers.peer)) {
    client = policy.mode == IpMode::proxy ? forwarded_client(policy.trusted, headers.forwarded_for)
                                          : parse_hop(headers.connecting_ip);
  }
  if (!client) client = parse_hop(headers.peer);
  return client ? client->text() : "0.0.0.0";
}

std::optional<std::string> canonical_network(std::string_view text) {
  size_t slash = text.find('/');
  CidrList checked;
  if (!checked.add(text)) return std::nullopt;
  IpAddress address = *IpAddress::parse(text.substr(0, slash));
  int bits = address.is_v4 ? 32 : 128;
  if (slash != text.npos) std::from_chars(text.data() + slash + 1, text.data() + text.size(), bits);
  if (is_mapped(address) && bits >= mapped_bits) {
    address = unmapped(address);
    bits -= mapped_bits;
  }
  for (int bit = bits; bit < (address.is_v4 ? 32 : 128); ++bit) {
    size_t index = static_cast<size_t>(bit) / 8;
    address.bytes[index] = static_cast<uint8_t>(address.bytes[index] & ~(0x80 >> (bit % 8)));
  }
  return fmt::format("{}/{}", address.text(), bits);
}

bool is_too_wide(std::string_view canonical) {
  size_t slash = canonical.rfind('/');
  return slash + 2 == canonical.size() && canonical.back() < '8';
}

}  // namespace hostler::net
