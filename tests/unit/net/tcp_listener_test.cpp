// Places of ports as settings name them, and a port opened.
#include "lib/net/tcp_listener.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace hostler {
namespace {

TEST(TcpPlace, IsAnAddressAndAPort) {
  std::optional<net::TcpPlace> v4 = net::TcpPlace::parse("10.0.0.5:9101");
  ASSERT_TRUE(v4);
  EXPECT_EQ(v4->address.text(), "10.0.0.5");
  EXPECT_EQ(v4->port, 9101);
  std::optional<net::TcpPlace> v6 = net::TcpPlace::parse("[fd00::5]:1");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->address.text(), "fd00::5");
}

TEST(TcpPlace, IsNothingElse) {
  for (const char* text :
       {"", ":", "9101", "10.0.0.5", "10.0.0.5:", "10.0.0.5:0", "10.0.0.5:65536", "10.0.0.5:+1",
        "10.0.0.5:1 ", "db:1", "fd00::5:1", "[10.0.0.5]:1", "[fd00::5]", "[fd00::5]1", "*:1"}) {
    EXPECT_FALSE(net::TcpPlace::parse(text)) << text;
  }
}

TEST(TcpListener, KnowsWhereItListens) {
  std::string fault;
  for (const char* address : {"127.0.0.1", "::1"}) {
    net::TcpPlace any{*net::IpAddress::parse(address), 0};
    int fd = net::listen_tcp(any, fault);
    if (fd < 0 && std::string_view(address) == "::1") GTEST_SKIP() << "SKIPPED: no IPv6 here";
    ASSERT_GE(fd, 0) << fault;
    std::optional<net::TcpPlace> place = net::place_of_listener(fd);
    ASSERT_TRUE(place);
    EXPECT_EQ(place->address.text(), address);
    EXPECT_GT(place->port, 0);
    int another = net::listen_tcp(*place, fault);
    EXPECT_GE(another, 0) << "daemons of a host share a place: " << fault;
    close(another);
    close(fd);
  }
}

TEST(TcpListener, SaysWhyAPlaceCannotBeHad) {
  std::string fault;
  EXPECT_EQ(net::listen_tcp({*net::IpAddress::parse("192.0.2.1"), 9101}, fault), -1);
  EXPECT_TRUE(fault.starts_with("192.0.2.1 port 9101: ")) << fault;
}

}  // namespace
}  // namespace hostler
