// Addresses and their kinds, against a second classifier that was written apart from the first: as
// ranges of numbers instead of prefixes. Also hops of X-Forwarded-For.
#include "lib/net/address_guard.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "lib/net/client_address.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

struct RangeV4 {
  uint32_t first;
  uint32_t last;
};

// IANA's special-purpose registry, what it calls not globally reachable, multicast, class E, and
// 6to4's relays; last the platforms' own addresses.
constexpr RangeV4 not_public[] = {
    {0x00000000, 0x00ffffff}, {0x0a000000, 0x0affffff}, {0x64400000, 0x647fffff},
    {0x7f000000, 0x7fffffff}, {0xa9fe0000, 0xa9feffff}, {0xac100000, 0xac1fffff},
    {0xc0000000, 0xc00000ff}, {0xc0000200, 0xc00002ff}, {0xc0586300, 0xc05863ff},
    {0xc0a80000, 0xc0a8ffff}, {0xc6120000, 0xc613ffff}, {0xc6336400, 0xc63364ff},
    {0xcb007100, 0xcb0071ff}, {0xe0000000, 0xffffffff},
};

uint32_t number_of(const net::IpAddress& address) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) number = number << 8 | address.bytes[i];
  return number;
}

void check_kind(const net::IpAddress& address) {
  bool is_global = net::kind_of_address(address) == net::AddressKind::global;
  if (address.is_v4) {
    uint32_t number = number_of(address);
    for (const RangeV4& range : not_public) {
      bool is_within = number >= range.first && number <= range.last;
      require(!is_within || !is_global, "no special address is public");
    }
  } else {
    require(!is_global || address.bytes[0] >> 5 == 1, "public IPv6 is within 2000::/3");
  }
  net::CidrList nobody;
  require(net::refused_address(address, nobody).has_value() != is_global,
          "only public ones are dialled");
  net::CidrList itself;
  require(itself.add(address.text()), "an address is a network of one");
  require(!net::refused_address(address, itself), "what the operator allows is dialled");
  require(!net::address_kind_name(net::kind_of_address(address)).empty(), "every kind has a name");
}

// Acts as the system writes it.
void check_socket(const net::IpAddress& address) {
  sockaddr_storage written{};
  if (address.is_v4) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    std::memcpy(&v4.sin_addr, address.bytes.data(), 4);
    std::memcpy(&written, &v4, sizeof v4);
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    std::memcpy(&v6.sin6_addr, address.bytes.data(), 16);
    std::memcpy(&written, &v6, sizeof v6);
  }
  const sockaddr* general = reinterpret_cast<const sockaddr*>(&written);
  require(net::IpAddress::from_socket(general) == address, "a socket's address is the same");
  written.ss_family = AF_UNIX;
  require(!net::IpAddress::from_socket(general), "a socket of another kind has none");
  int port = address.bytes[0] << 8 | address.bytes[1];
  require(!net::is_service_port(port) || (port != 80 && port != 443), "the web's ports are open");
}

void check_hops(std::string_view input) {
  net::AddressPolicy policy;
  policy.mode = net::IpMode::proxy;
  policy.trusted.add("10.0.0.0/8");
  std::string client = net::client_address(policy, {"10.0.0.1", input, {}});
  std::optional<net::IpAddress> address = net::IpAddress::parse(client);
  require(address && address->text() == client, "a client has an address in its shortest form");
  policy.mode = net::IpMode::direct;
  require(net::client_address(policy, {"192.0.2.1", input, input}) == "192.0.2.1",
          "direct is the peer");
  policy.mode = net::IpMode::cdn;
  std::string named = net::client_address(policy, {"10.0.0.1", {}, input});
  std::optional<net::IpAddress> hop = net::parse_hop(input);
  require(named == (hop ? hop->text() : "10.0.0.1"), "a CDN names the client");
}

}  // namespace

void address(std::string_view input) {
  check_hops(input);
  std::optional<net::IpAddress> read = net::IpAddress::parse(input);
  if (!read && input.size() == 16) {
    read.emplace();
    std::copy(input.begin(), input.end(), read->bytes.begin());
    read->is_v4 = input.front() == input.back();
    if (read->is_v4) std::fill(read->bytes.begin() + 4, read->bytes.end(), uint8_t{0});
  }
  if (!read) return;
  std::optional<net::IpAddress> again = net::IpAddress::parse(read->text());
  require(again == read, "an address written and read is the same");
  check_kind(*read);
  check_socket(*read);
}

}  // namespace hostler::fuzz
