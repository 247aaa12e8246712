// The table of addresses that a tenant may not make us dial, at its borders.
#include "lib/net/address_guard.h"

#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <map>
#include <optional>
#include <vector>

#include "lib/net/own_address.h"

namespace hostler {
namespace {

using Kind = net::AddressKind;

struct Case {
  const char* address;
  Kind kind;
};

constexpr Case cases[] = {
    // Both ends of each IPv4 network, and its neighbours outside.
    {"0.0.0.0", Kind::this_network},
    {"0.255.255.255", Kind::this_network},
    {"1.0.0.0", Kind::global},
    {"9.255.255.255", Kind::global},
    {"10.0.0.0", Kind::private_net},
    {"10.255.255.255", Kind::private_net},
    {"11.0.0.0", Kind::global},
    {"100.63.255.255", Kind::global},
    {"100.64.0.0", Kind::shared},
    {"100.100.100.200", Kind::shared},
    {"100.127.255.255", Kind::shared},
    {"100.128.0.0", Kind::global},
    {"126.255.255.255", Kind::global},
    {"127.0.0.0", Kind::loopback},
    {"127.0.0.1", Kind::loopback},
    {"127.255.255.255", Kind::loopback},
    {"128.0.0.0", Kind::global},
    {"168.63.129.15", Kind::global},
    {"168.63.129.16", Kind::platform},
    {"168.63.129.17", Kind::global},
    {"169.253.255.255", Kind::global},
    {"169.254.0.0", Kind::link_local},
    {"169.254.169.254", Kind::link_local},
    {"169.254.255.255", Kind::link_local},
    {"169.255.0.0", Kind::global},
    {"172.15.255.255", Kind::global},
    {"172.16.0.0", Kind::private_net},
    {"172.31.255.255", Kind::private_net},
    {"172.32.0.0", Kind::global},
    {"191.255.255.255", Kind::global},
    {"192.0.0.0", Kind::reserved},
    {"192.0.0.192", Kind::reserved},
    {"192.0.0.255", Kind::reserved},
    {"192.0.1.0", Kind::global},
    {"192.0.2.0", Kind::documentation},
    {"192.0.2.255", Kind::documentation},
    {"192.0.3.0", Kind::global},
    {"192.88.98.255", Kind::global},
    {"192.88.99.0", Kind::wraps_ipv4},
    {"192.88.99.255", Kind::wraps_ipv4},
    {"192.167.255.255", Kind::global},
    {"192.168.0.0", Kind::private_net},
    {"192.168.255.255", Kind::private_net},
    {"192.169.0.0", Kind::global},
    {"198.17.255.255", Kind::global},
    {"198.18.0.0", Kind::benchmark},
    {"198.19.255.255", Kind::benchmark},
    {"198.20.0.0", Kind::global},
    {"198.51.99.255", Kind::global},
    {"198.51.100.0", Kind::documentation},
    {"198.51.100.255", Kind::documentation},
    {"198.51.101.0", Kind::global},
    {"203.0.112.255", Kind::global},
    {"203.0.113.0", Kind::documentation},
    {"203.0.113.255", Kind::documentation},
    {"203.0.114.0", Kind::global},
    {"223.255.255.255", Kind::global},
    {"224.0.0.0", Kind::multicast},
    {"239.255.255.255", Kind::multicast},
    {"240.0.0.0", Kind::reserved},
    {"255.255.255.254", Kind::reserved},
    {"255.255.255.255", Kind::reserved},
    {"8.8.8.8", Kind::global},
    {"93.184.216.34", Kind::global},
    // IPv6.
    {"::", Kind::this_network},
    {"::1", Kind::loopback},
    {"::2", Kind::wraps_ipv4},
    {"::127.0.0.1", Kind::wraps_ipv4},
    {"::8.8.8.8", Kind::wraps_ipv4},
    {"::ffff:0.0.0.0", Kind::wraps_ipv4},
    {"::ffff:127.0.0.1", Kind::wraps_ipv4},
    {"::ffff:7f00:1", Kind::wraps_ipv4},
    {"::ffff:8.8.8.8", Kind::wraps_ipv4},
    {"0:0:0:0:0:ffff:a00:1", Kind::wraps_ipv4},
    {"::ffff:0:127.0.0.1", Kind::wraps_ipv4},
    {"::1:0:0:0", Kind::reserved},
    {"64:ff9b::7f00:1", Kind::wraps_ipv4},
    {"64:ff9b::8.8.8.8", Kind::wraps_ipv4},
    {"64:ff9b:1::a00:1", Kind::wraps_ipv4},
    {"64:ff9b:2::1", Kind::reserved},
    {"100::", Kind::reserved},
    {"100::1", Kind::reserved},
    {"100:0:0:1::1", Kind::reserved},
    {"1fff:ffff::1", Kind::reserved},
    {"2000::1", Kind::global},
    {"2001::1", Kind::wraps_ipv4},
    {"2001:0:7f00:1::", Kind::wraps_ipv4},
    {"2001:1::1", Kind::reserved},
    {"2001:2::1", Kind::benchmark},
    {"2001:3::1", Kind::reserved},
    {"2001:10::1", Kind::reserved},
    {"2001:20::1", Kind::reserved},
    {"2001:1ff::1", Kind::reserved},
    {"2001:200::1", Kind::global},
    {"2001:4860:4860::8888", Kind::global},
    {"2001:db7::1", Kind::global},
    {"2001:db8::", Kind::documentation},
    {"2001:db8:ffff::1", Kind::documentation},
    {"2001:db9::1", Kind::global},
    {"2002::1", Kind::wraps_ipv4},
    {"2002:7f00:1::", Kind::wraps_ipv4},
    {"2002:c0a8:101::1", Kind::wraps_ipv4},
    {"2003::1", Kind::global},
    {"2606:4700::1111", Kind::global},
    {"2606:4700::5efe:7f00:1", Kind::wraps_ipv4},
    {"2606:4700::200:5efe:a00:1", Kind::wraps_ipv4},
    {"2a00:1450:4001::1", Kind::global},
    {"3ffe::1", Kind::reserved},
    {"3fff::1", Kind::documentation},
    {"3fff:fff::1", Kind::documentation},
    {"3fff:1000::1", Kind::global},
    {"4000::1", Kind::reserved},
    {"5f00::1", Kind::reserved},
    {"fbff::1", Kind::reserved},
    {"fc00::", Kind::private_net},
    {"fd00::1", Kind::private_net},
    {"fd00:ec2::254", Kind::private_net},
    {"fdff:ffff::1", Kind::private_net},
    {"fe00::1", Kind::reserved},
    {"fe80::", Kind::link_local},
    {"fe80::1", Kind::link_local},
    {"febf:ffff::1", Kind::link_local},
    {"fec0::1", Kind::private_net},
    {"feff::1", Kind::private_net},
    {"ff00::", Kind::multicast},
    {"ff02::1", Kind::multicast},
    {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Kind::multicast},
};

TEST(AddressGuard, KnowsWhichAddressesArePublic) {
  static_assert(std::size(cases) >= 120);
  for (const Case& item : cases) {
    std::optional<net::IpAddress> address = net::IpAddress::parse(item.address);
    ASSERT_TRUE(address) << item.address;
    EXPECT_EQ(net::address_kind_name(net::kind_of_address(*address)),
              net::address_kind_name(item.kind))
        << item.address;
    EXPECT_EQ(net::refused_address(*address, net::CidrList()).has_value(),
              item.kind != Kind::global)
        << item.address;
  }
}

TEST(AddressGuard, LetsThroughWhatTheOperatorAllows) {
  std::optional<net::CidrList> allowed =
      net::CidrList::parse({"127.0.0.0/8", "10.1.2.3", "fd00::/8"});
  ASSERT_TRUE(allowed);
  const std::map<std::string, bool> refused = {
      {"127.0.0.1", false},  {"127.255.0.1", false}, {"10.1.2.3", false},
      {"10.1.2.4", true},    {"fd12::1", false},     {"fc12::1", true},
      {"::1", true},         {"8.8.8.8", false},     {"::ffff:127.0.0.1", true},
      {"::127.0.0.1", true}, {"0.0.0.0", true},      {"2002:7f00:1::", true}};
  for (const auto& [text, is_refused] : refused) {
    EXPECT_EQ(net::refused_address(net::IpAddress::parse(text).value(), *allowed).has_value(),
              is_refused)
        << text;
  }
}

TEST(CidrList, CutsHostBitsAndHoldsWholeNetworks) {
  std::optional<net::CidrList> list =
      net::CidrList::parse({"192.168.7.9/23", "2001:db8::5/127", "0.0.0.0/0"});
  ASSERT_TRUE(list);
  EXPECT_TRUE(list->contains(net::IpAddress::parse("255.1.2.3").value()));
  net::CidrList nets = net::CidrList::parse({"192.168.7.9/23", "2001:db8::5/127", "::/1"}).value();
  EXPECT_TRUE(nets.contains(net::IpAddress::parse("192.168.6.0").value()));
  EXPECT_TRUE(nets.contains(net::IpAddress::parse("192.168.7.255").value()));
  EXPECT_FALSE(nets.contains(net::IpAddress::parse("192.168.8.0").value()));
  EXPECT_TRUE(nets.contains(net::IpAddress::parse("2001:db8::4").value()));
  EXPECT_TRUE(nets.contains(net::IpAddress::parse("7fff::").value()));
  EXPECT_FALSE(nets.contains(net::IpAddress::parse("8000::").value()));
  EXPECT_FALSE(net::CidrList().contains(net::IpAddress::parse("127.0.0.1").value()));
}

TEST(CidrList, RefusesWhatIsNoNetwork) {
  for (const char* text : {"",
                           "/",
                           "10.0.0.0/",
                           "10.0.0.0/33",
                           "10.0.0.0/-1",
                           "10.0.0.0/+1",
                           "10.0.0.0/8 ",
                           " 10.0.0.0/8",
                           "10.0.0/8",
                           "010.0.0.0/8",
                           "::/129",
                           "::1/64/1",
                           "[::1]",
                           "fe80::1%eth0",
                           "localhost",
                           "10.0.0.0/0x8",
                           "10.0.0.0/99999999999",
                           "1.2.3.4.5",
                           "0x7f.1",
                           "2130706433"}) {
    EXPECT_FALSE(net::CidrList::parse({text})) << text;
  }
}

TEST(IpAddress, ReadsOnlyPlainForms) {
  for (const char* text : {"127.1", "0177.0.0.1", "0x7f000001", "2130706433", "127.0.0.1.",
                           "1.2.3.", "fe80::1%1", "[127.0.0.1]", "[::1", "::1]", ":::", "1::2::3",
                           "g::1", "12345::1", "", "[]", "1.2.3.4/8", "::ffff:1.2.3"}) {
    EXPECT_FALSE(net::IpAddress::parse(text)) << text;
  }
  EXPECT_EQ(net::IpAddress::parse("[::1]").value().text(), "::1");
  EXPECT_EQ(net::IpAddress::parse("2001:DB8:0:0::1").value().text(), "2001:db8::1");
  EXPECT_FALSE(net::IpAddress::parse(std::string_view("127.0.0.1\0x", 11)));
}

TEST(AddressGuard, KnowsThePortsOfOtherServices) {
  for (int port :
       {1, 22, 25, 53, 110, 143, 389, 445, 465, 587, 993, 1023, 3306, 5432, 6379, 11211, 27017}) {
    EXPECT_TRUE(net::is_service_port(port)) << port;
  }
  for (int port : {80, 443, 1024, 3000, 8000, 8080, 8443, 65535}) {
    EXPECT_FALSE(net::is_service_port(port)) << port;
  }
}

// Addresses of the interfaces that are up.
std::vector<net::IpAddress> addresses_of_interfaces() {
  std::vector<net::IpAddress> found;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return found;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if ((each->ifa_flags & IFF_UP) == 0 || each->ifa_addr == nullptr) continue;
    std::optional<net::IpAddress> address = net::IpAddress::from_socket(each->ifa_addr);
    if (address && net::kind_of_address(*address) != Kind::link_local) found.push_back(*address);
  }
  freeifaddrs(first);
  return found;
}

TEST(AddressGuard, KnowsTheHostsOwnAddressesAndLeavesItsWebServerOpen) {
  std::vector<net::IpAddress> own = addresses_of_interfaces();
  ASSERT_FALSE(own.empty());
  for (const net::IpAddress& address : own) {
    EXPECT_TRUE(net::is_own_address(address)) << address.text();
    EXPECT_TRUE(net::is_closed_port(address, 3000)) << address.text();
    EXPECT_FALSE(net::is_closed_port(address, 443)) << address.text();
  }
  net::IpAddress other = net::IpAddress::parse("192.0.2.1").value();
  EXPECT_FALSE(net::is_own_address(other));
  EXPECT_FALSE(net::is_closed_port(other, 3000));
  EXPECT_TRUE(net::is_closed_port(other, 5432));
  EXPECT_FALSE(net::is_own_address(net::IpAddress::parse("2001:db8::1").value()));
}

}  // namespace
}  // namespace hostler
