// Tests what the units deny is what the address guard refuses: the second lock covers the first.
// What they bound stands in the manual.
#include <gtest/gtest.h>

#include <sstream>

#include "lib/net/address_guard.h"
#include "tests/style/source_text.h"

namespace hostler::style {
namespace {

// The networks of the lines `directive`=…; systemd has words for some (systemd.resource-control).
net::CidrList networks_of(const std::string& unit, std::string_view directive) {
  net::CidrList networks;
  for (const std::string& line : lines_of(unit)) {
    if (!line.starts_with(directive)) continue;
    std::istringstream words(line.substr(directive.size()));
    for (std::string word; words >> word;) {
      bool is_known = true;
      if (word == "link-local") {
        is_known = networks.add("169.254.0.0/16") && networks.add("fe80::/64");
      } else if (word == "multicast") {
        is_known = networks.add("224.0.0.0/4") && networks.add("ff00::/8");
      } else {
        is_known = networks.add(word);
      }
      EXPECT_TRUE(is_known) << word;
    }
  }
  return networks;
}

TEST(Units, KeepTheRunnerOffTheNetworksBehindItsHost) {
  std::string unit = read_source("systemd/runner-public-network.conf").text;
  net::CidrList denied = networks_of(unit, "IPAddressDeny=");
  for (const char* text : {"169.254.169.254", "168.63.129.16", "100.100.100.200", "fd00:ec2::254",
                           "fd20:ce::254",    "10.0.0.1",      "10.255.255.255",  "100.64.0.1",
                           "100.127.255.255", "172.16.0.1",    "172.31.255.255",  "192.168.0.1",
                           "192.168.255.255", "224.0.0.1",     "239.255.255.255", "fc00::1",
                           "fdff::1",         "fe80::1",       "febf::1",         "fec0::1",
                           "feff::1",         "ff02::1"}) {
    net::IpAddress address = *net::IpAddress::parse(text);
    EXPECT_NE(net::kind_of_address(address), net::AddressKind::global) << text;
    EXPECT_TRUE(denied.contains(address)) << text;
  }
  for (const char* text : {"127.0.0.53", "::1", "8.8.8.8", "172.32.0.1", "2001:4860:4860::8888"}) {
    EXPECT_FALSE(denied.contains(*net::IpAddress::parse(text))) << text;
  }
}

TEST(Units, HideFromThePoolWhoResolvesNamesUnlessItHasANetwork) {
  std::string pool = read_source("systemd/hostler-api.service").text;
  size_t hidden = pool.find("\nInaccessiblePaths=");
  ASSERT_NE(hidden, std::string::npos);
  std::string line = pool.substr(hidden, pool.find('\n', hidden + 1) - hidden) + ' ';
  for (const char* path : {"avahi-daemon", "dbus", "nscd", "systemd/resolve"}) {
    EXPECT_NE(line.find("-/run/" + std::string(path) + ' '), std::string::npos) << path;
  }
  std::string with_network = read_source("systemd/api-with-network.conf").text;
  EXPECT_NE(with_network.find("\nInaccessiblePaths=\n"), std::string::npos);
}

// The target names the first daemon alone; stopped and started, it brings the others by this. Part
// of the first daemon they would be restarted whenever that dies.
TEST(Units, OfFurtherDaemonsComeBackWithTheTarget) {
  std::string daemon = read_source("systemd/hostler-runner@.service").text;
  EXPECT_NE(daemon.find("\nPartOf=hostler.target\n"), std::string::npos);
  for (const char* unit : {"systemd/hostler-runner@.service", "systemd/hostler-stream@.socket"}) {
    EXPECT_NE(read_source(unit).text.find("\nWantedBy=hostler.target "), std::string::npos) << unit;
  }
}

TEST(Units, BoundTheMemoryOfEachProgramAndTheManualTellsHowToRaiseIt) {
  auto has_line = [](const std::string& text, const std::string& line) {
    return text.find("\n" + line) != std::string::npos;
  };
  for (const auto& [unit, manual] : {std::pair{"hostler-api", "docs/man/hostler-api.8"},
                                     {"hostler-runner", "docs/man/hostler-runner.8"},
                                     {"hostler-runner@", "docs/man/hostler-runner.8"}}) {
    std::string lines = read_source("systemd/" + std::string(unit) + ".service").text;
    std::string told = read_source(manual).text;
    for (const std::string& line : lines_of(lines)) {
      bool is_bound = line.starts_with("Memory") && line.ends_with("%");
      EXPECT_TRUE(!is_bound || has_line(told, ".Li " + line)) << unit << " " << line;
    }
    EXPECT_TRUE(has_line(lines, "MemoryHigh=")) << unit;
    EXPECT_TRUE(has_line(lines, "MemoryMax=")) << unit;
  }
}

}  // namespace
}  // namespace hostler::style
