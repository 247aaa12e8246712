// Endpoints as settings name them, and a port opened.
#include "lib/net/tcp_listener.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace hostler {
namespace {

TEST(TcpEndpoint, IsAnAddressAndAPort) {
  std::optional<net::TcpEndpoint> v4 = net::TcpEndpoint::parse("10.0.0.5:9101");
  ASSERT_TRUE(v4);
  EXPECT_EQ(v4->address.text(), "10.0.0.5");
  EXPECT_EQ(v4->port, 9101);
  std::optional<net::TcpEndpoint> v6 = net::TcpEndpoint::parse("[fd00::5]:1");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->address.text(), "fd00::5");
}

TEST(TcpEndpoint, IsNothingElse) {
  for (const char* text :
       {"", ":", "9101", "10.0.0.5", "10.0.0.5:", "10.0.0.5:0", "10.0.0.5:65536", "10.0.0.5:+1",
        "10.0.0.5:1 ", "db:1", "fd00::5:1", "[10.0.0.5]:1", "[fd00::5]", "[fd00::5]1", "*:1"}) {
    EXPECT_FALSE(net::TcpEndpoint::parse(text)) << text;
  }
}

TEST(TcpListener, KnowsWhereItListens) {
  std::string fault;
  for (const char* address : {"127.0.0.1", "::1"}) {
    net::TcpEndpoint any{*net::IpAddress::parse(address), 0};
    int fd = net::listen_tcp(any, fault);
    if (fd < 0 && std::string_view(address) == "::1") GTEST_SKIP() << "SKIPPED: no IPv6 here";
    ASSERT_GE(fd, 0) << fault;
    std::optional<net::TcpEndpoint> endpoint = net::endpoint_of_listener(fd);
    ASSERT_TRUE(endpoint);
    EXPECT_EQ(endpoint->address.text(), address);
    EXPECT_GT(endpoint->port, 0);
    int another = net::listen_tcp(*endpoint, fault);
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
