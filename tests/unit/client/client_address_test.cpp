// Whose address counts: three modes against the shapes that headers have in the wild, and what of
// it becomes a trace and a note for the log.
#include "lib/net/client_address.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "lib/account/caller.h"
#include "lib/client/access_note.h"
#include "lib/client/gateway.h"
#include "lib/client/trace.h"
#include "lib/crypto.h"

namespace hostler {
namespace {

constexpr std::string_view trusted_peer = "10.0.0.1";
constexpr std::string_view far_peer = "192.0.2.50";

net::AddressPolicy policy(net::IpMode mode) {
  net::AddressPolicy made;
  made.mode = mode;
  made.trusted = net::CidrList::parse({"10.0.0.0/8", "2001:db8:aa::/48"}).value();
  return made;
}

// Values of both headers; the mode decides which of them counts.
struct Shape {
  const char* name;
  std::string_view peer;
  std::string_view forwarded_for;
  std::string_view connecting_ip;
  const char* as_direct;
  const char* as_proxy;
  const char* as_cdn;
};

constexpr Shape shapes[] = {
    {"nothing", trusted_peer, "", "", "10.0.0.1", "10.0.0.1", "10.0.0.1"},
    {"one address", trusted_peer, "198.51.100.7", "203.0.113.9", "10.0.0.1", "198.51.100.7",
     "203.0.113.9"},
    {"a peer nobody trusts", far_peer, "198.51.100.7", "203.0.113.9", "192.0.2.50", "192.0.2.50",
     "192.0.2.50"},
    {"a forged left part", trusted_peer, "1.1.1.1, 198.51.100.7", "203.0.113.9", "10.0.0.1",
     "198.51.100.7", "203.0.113.9"},
    {"trusted hops behind the client", trusted_peer, "1.1.1.1, 198.51.100.7, 10.1.1.1, 10.2.2.2",
     "10.9.9.9", "10.0.0.1", "198.51.100.7", "10.9.9.9"},
    {"only trusted hops", trusted_peer, "10.3.3.3, 10.2.2.2", "10.3.3.3", "10.0.0.1", "10.3.3.3",
     "10.3.3.3"},
    {"a word left of the client", trusted_peer, "unknown, 198.51.100.7", "unknown", "10.0.0.1",
     "198.51.100.7", "10.0.0.1"},
    {"a word behind trusted hops", trusted_peer, "198.51.100.7, unknown, 10.2.2.2", "_hidden",
     "10.0.0.1", "10.2.2.2", "10.0.0.1"},
    {"a word at the right", trusted_peer, "198.51.100.7, unknown", "a b", "10.0.0.1", "10.0.0.1",
     "10.0.0.1"},
    {"an empty part at the right", trusted_peer, "198.51.100.7, ", " ", "10.0.0.1", "10.0.0.1",
     "10.0.0.1"},
    {"commas alone", trusted_peer, ",,", ",", "10.0.0.1", "10.0.0.1", "10.0.0.1"},
    {"a port", trusted_peer, "198.51.100.7:4711", "203.0.113.9:1", "10.0.0.1", "198.51.100.7",
     "203.0.113.9"},
    {"a port that is none", trusted_peer, "198.51.100.7:99999", "203.0.113.9:x", "10.0.0.1",
     "10.0.0.1", "10.0.0.1"},
    {"IPv6", trusted_peer, "2001:db8::7", "2001:DB8:0::9", "10.0.0.1", "2001:db8::7",
     "2001:db8::9"},
    {"IPv6 in brackets", trusted_peer, "[2001:db8::7]", "[2001:db8::9]", "10.0.0.1", "2001:db8::7",
     "2001:db8::9"},
    {"IPv6 in brackets with a port", trusted_peer, "1.1.1.1,[2001:db8::7]:443", "[2001:db8::9]:1",
     "10.0.0.1", "2001:db8::7", "2001:db8::9"},
    {"IPv6 through trusted IPv6", "2001:db8:aa::1", "2001:db8::7, 2001:db8:aa::2", "2001:db8::9",
     "2001:db8:aa::1", "2001:db8::7", "2001:db8::9"},
    {"IPv4 in IPv6", "::ffff:10.0.0.1", "::ffff:198.51.100.7", "::ffff:203.0.113.9", "10.0.0.1",
     "198.51.100.7", "203.0.113.9"},
    {"a zone", trusted_peer, "fe80::1%eth0", "fe80::1%eth0", "10.0.0.1", "10.0.0.1", "10.0.0.1"},
    {"two lines as one list, spaces and tabs", trusted_peer, " 1.1.1.1 ,\t198.51.100.7 , 10.4.4.4 ",
     " 203.0.113.9\t", "10.0.0.1", "198.51.100.7", "203.0.113.9"},
    {"two addresses where one belongs", trusted_peer, "198.51.100.7 198.51.100.8",
     "203.0.113.9, 203.0.113.10", "10.0.0.1", "10.0.0.1", "10.0.0.1"},
    {"quotes and shortened numbers", trusted_peer, "\"198.51.100.7\"", "203.0.113", "10.0.0.1",
     "10.0.0.1", "10.0.0.1"},
    {"a network", trusted_peer, "198.51.100.0/24", "203.0.113.9/32", "10.0.0.1", "10.0.0.1",
     "10.0.0.1"},
    {"a peer that is a socket", "unix:", "198.51.100.7", "203.0.113.9", "0.0.0.0", "0.0.0.0",
     "0.0.0.0"},
};

TEST(ClientAddress, IsWhatTheModeSaysForEveryShapeOfHeaders) {
  static_assert(std::size(shapes) >= 20);
  for (const Shape& shape : shapes) {
    net::AddressHeaders headers{shape.peer, shape.forwarded_for, shape.connecting_ip};
    EXPECT_EQ(net::client_address(policy(net::IpMode::direct), headers), shape.as_direct)
        << shape.name;
    EXPECT_EQ(net::client_address(policy(net::IpMode::proxy), headers), shape.as_proxy)
        << shape.name;
    EXPECT_EQ(net::client_address(policy(net::IpMode::cdn), headers), shape.as_cdn) << shape.name;
  }
}

TEST(ClientAddress, IsThePeersWhenNobodyIsTrusted) {
  net::AddressHeaders headers{trusted_peer, "198.51.100.7", "203.0.113.9"};
  for (net::IpMode mode : {net::IpMode::direct, net::IpMode::proxy, net::IpMode::cdn}) {
    EXPECT_EQ(net::client_address({mode, {}}, headers), trusted_peer);
  }
}

TEST(ClientAddress, IsFoundInALongList) {
  std::string list = "198.51.100.7";
  for (int i = 0; i < 500; ++i) list += ", 10.0.0.9";
  EXPECT_EQ(net::client_address(policy(net::IpMode::proxy), {trusted_peer, list, ""}),
            "198.51.100.7");
}

TEST(CanonicalNetwork, CutsHostBitsAndFillsInThePrefix) {
  EXPECT_EQ(net::canonical_network("203.0.113.9/24"), "203.0.113.0/24");
  EXPECT_EQ(net::canonical_network("203.0.113.9"), "203.0.113.9/32");
  EXPECT_EQ(net::canonical_network("2001:DB8::1/33"), "2001:db8::/33");
  EXPECT_EQ(net::canonical_network("2001:db8::1"), "2001:db8::1/128");
  EXPECT_EQ(net::canonical_network("255.255.255.255/0"), "0.0.0.0/0");
  EXPECT_EQ(net::canonical_network("::ffff:203.0.113.9/120"), "203.0.113.0/24");
  EXPECT_EQ(net::canonical_network("::ffff:203.0.113.9/80"), "::/80");
  for (const char* bad : {"", "x", "1.2.3/8", "1.2.3.4/33", "1.2.3.4/", "1.2.3.4/-1", "::/129",
                          "1.2.3.4/8/8", " 1.2.3.4", "[::1]", "1.2.3.4:80"}) {
    EXPECT_EQ(net::canonical_network(bad), std::nullopt) << bad;
  }
}

constexpr std::string_view parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST(TraceParent, IsReadAsW3CSays) {
  std::string id = "0af7651916cd43dd8448eb211c80319c";
  EXPECT_EQ(client::trace_id_of(parent), id);
  EXPECT_EQ(client::trace_id_of("cc-" + id + "-b7ad6b7169203331-01-what-comes"), id);
  for (const std::string& bad :
       std::vector<std::string>{std::string(), id, "00-" + id + "-b7ad6b7169203331-01-more",
                                "ff-" + id + "-b7ad6b7169203331-01",
                                "00-" + std::string(32, '0') + "-b7ad6b7169203331-01",
                                "00-" + id + "-0000000000000000-01",
                                "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
                                "00_" + id + "-b7ad6b7169203331-01"}) {
    EXPECT_EQ(client::trace_id_of(bad), std::nullopt) << bad;
  }
}

config::Settings settings_with(const std::vector<std::pair<std::string, std::string>>& values) {
  config::Settings settings;
  for (const auto& [name, value] : values) {
    size_t index = config::find_setting(name);
    settings.set(
        index,
        std::get<config::SettingValue>(config::read_setting(config::setting_rows[index], value)),
        config::SettingSource::file);
  }
  return settings;
}

TEST(Gateway, BelievesATraceOfATrustedProxyOnly) {
  client::Gateway proxy(
      settings_with({{"gateway.ip_mode", "proxy"}, {"gateway.trusted_cidrs", "10.0.0.0/8"}}));
  client::Gateway direct(settings_with({{"gateway.trusted_cidrs", "10.0.0.0/8"}}));
  client::RequestOrigin origin;
  origin.address.peer = trusted_peer;
  origin.traceparent = parent;
  EXPECT_TRUE(proxy.facts_of(origin).trace_id.has_value());
  EXPECT_FALSE(direct.facts_of(origin).trace_id.has_value());
  origin.address.peer = far_peer;
  EXPECT_FALSE(proxy.facts_of(origin).trace_id.has_value());
}

TEST(Gateway, FindsRiskyWhatReachesTheThreshold) {
  auto networks = std::make_shared<net::NetworkSet>();
  networks->add("198.51.100.0/24");
  networks->arrange();
  client::RequestOrigin origin;
  origin.address.peer = "198.51.100.9";
  auto facts = [&](const char* threshold) {
    return client::Gateway(settings_with({{"gateway.risk_reject_threshold", threshold}}), networks)
        .facts_of(origin);
  };
  EXPECT_EQ(facts("0").risk_score, 1.0) << "at most 1";
  EXPECT_FALSE(facts("0").is_risky) << "0 is off";
  EXPECT_TRUE(facts("1").is_risky);
  origin.user_agent = "Mozilla/5.0";
  EXPECT_EQ(facts("0.8").risk_score, 0.8);
  EXPECT_TRUE(facts("0.8").is_risky);
  EXPECT_FALSE(facts("0.81").is_risky);
  origin.authorization = "Bearer x";
  origin.address.peer = "192.0.2.1";
  EXPECT_EQ(facts("0.1").risk_score, 0.0);
  EXPECT_FALSE(facts("0.1").is_risky);
}

TEST(NetworkSet, FindsAnAddressAmongManyNetworks) {
  net::NetworkSet networks;
  for (int i = 0; i < 250; ++i) {
    for (int j = 0; j < 100; ++j) networks.add(fmt::format("10.{}.{}.128/25", i, j));
  }
  networks.add("10.7.0.0/16");
  networks.add("2001:db8::/32");
  EXPECT_FALSE(networks.add("nonsense"));
  networks.arrange();
  auto contains = [&](const char* text) { return networks.contains(*net::IpAddress::parse(text)); };
  EXPECT_TRUE(contains("10.3.4.200"));
  EXPECT_FALSE(contains("10.3.4.100"));
  EXPECT_TRUE(contains("10.7.4.100"));
  EXPECT_FALSE(contains("10.3.100.200"));
  EXPECT_TRUE(contains("2001:db8:ffff::1"));
  EXPECT_FALSE(contains("2001:db9::1"));
  EXPECT_FALSE(contains("9.255.255.255"));
  EXPECT_FALSE(net::NetworkSet().contains(*net::IpAddress::parse("::")));
}

class RiskFiles : public testing::Test {
 protected:
  RiskFiles() : path_(testing::TempDir() + "risk-" + to_hex(random_bytes(6))) {}
  ~RiskFiles() override { std::remove(path_.c_str()); }
  client::RiskyNetworks load(const std::string& text) {
    std::ofstream(path_) << text;
    return client::load_risky_networks(settings_with({{"gateway.risk_files", path_}}));
  }
  std::string path_;
};

TEST_F(RiskFiles, HoldANetworkALineAndRemarks) {
  client::RiskyNetworks networks =
      load("# known scanners\n\n198.51.100.0/24\r\n  2001:db8::/32 # and these\n192.0.2.1");
  EXPECT_TRUE(networks->contains(*net::IpAddress::parse("198.51.100.9")));
  EXPECT_TRUE(networks->contains(*net::IpAddress::parse("2001:db8::9")));
  EXPECT_TRUE(networks->contains(*net::IpAddress::parse("192.0.2.1")));
  EXPECT_FALSE(networks->contains(*net::IpAddress::parse("192.0.2.2")));
  EXPECT_EQ(client::load_risky_networks(config::Settings())->size(), 0u);
}

TEST_F(RiskFiles, AreRefusedWithTheLineThatIsNoNetwork) {
  try {
    load("198.51.100.0/24\nscanner.example\n");
    ADD_FAILURE() << "it was taken";
  } catch (const Error& error) {
    EXPECT_NE(error.cause.find(path_ + ":2: this is not a CIDR"), std::string::npos) << error.cause;
  }
  for (const char* unreadable : {"/nowhere", "/tmp"}) {
    EXPECT_THROW(client::load_risky_networks(settings_with({{"gateway.risk_files", unreadable}})),
                 Error);
  }
}

TEST(AccessNote, IsReadAsItWasWritten) {
  account::Caller caller;
  caller.is_known = true;
  caller.org_id = "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a";
  caller.user_id = "01a1fa43-8dcd-7506-ab81-ef7a33b2be1b";
  client::AccessNote note{"2001:db8::1", 0.4, client::identity_of(caller)};
  std::optional<client::AccessNote> read = client::read_access_note(client::access_note_text(note));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->client_ip, note.client_ip);
  EXPECT_EQ(read->risk_score, 0.4);
  EXPECT_EQ(read->identity.type, "user");
  EXPECT_EQ(read->identity.org_id, caller.org_id);
  EXPECT_EQ(read->identity.user_id, caller.user_id);
  read = client::read_access_note(client::access_note_text({"192.0.2.1", 0, {}}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->identity.type, "anonymous");
  EXPECT_EQ(read->identity.org_id, "");
  for (const char* bad :
       {"", "-", "x 0.1 user - -", "192.0.2.1 x user - -", "192.0.2.1 0.1 nobody - -",
        "192.0.2.1 0.1 user x y", "192.0.2.1 0.1 user - - -"}) {
    EXPECT_FALSE(client::read_access_note(bad)) << bad;
  }
}

}  // namespace
}  // namespace hostler
