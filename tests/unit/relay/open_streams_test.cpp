// Tests the report about callers that have reached their limit of streams
// (sse-relay/open_streams.h).
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/error.h"
#include "lib/json.h"
#include "sse-relay/open_streams.h"

namespace hostler::relay {
namespace {

constexpr const char* user = "019ac3a2-7e10-7b42-9d0a-5f1c2a3b4c5d";
constexpr const char* org = "019ac3a2-7e10-7b42-9d0a-5f1c2a3b4c5e";

StreamReader reader_at(std::string_view address) {
  StreamReader reader;
  reader.user_id = uuid_bytes(user);
  reader.org_id = uuid_bytes(org);
  reader.address = net::IpAddress::parse(address).value();
  return reader;
}

// "kind id streams/limit", each with a blank after it.
std::string full(const OpenStreams& streams) {
  std::optional<Json> holders = parse_json_or_nothing(streams.full_holders(0));
  if (!holders || holders->as_array() == nullptr) return "no JSON";
  std::string text;
  for (const Json& holder : *holders->as_array()) {
    text += fmt::format("{} {} {}/{} ", holder.text_or("kind"), holder.text_or("id"),
                        holder.integer_or("streams", -1), holder.integer_or("limit_streams", -1));
  }
  return text;
}

constexpr const char* full_org = "organization 019ac3a27e107b429d0a5f1c2a3b4c5e ";

TEST(FullHolders, AreThoseWhoReachedTheirLimit) {
  OpenStreams streams;
  streams.use_limits({.of_user = 2, .of_org = 3, .of_network = 2});
  EXPECT_EQ(streams.full_holders(0), "[]");
  streams.add(reader_at("192.0.2.7"), 3);
  EXPECT_EQ(full(streams), "");
  streams.add(reader_at("2001:db8:1:2::9"), 3);
  EXPECT_EQ(full(streams), "user 019ac3a27e107b429d0a5f1c2a3b4c5d 2/2 ");
  StreamReader by_key = reader_at("::ffff:192.0.2.7");
  by_key.user_id = {};
  streams.add(by_key, 3);
  EXPECT_EQ(full(streams), fmt::format("network 192.0.2.7 2/2 {}3/3 user "
                                       "019ac3a27e107b429d0a5f1c2a3b4c5d 2/2 ",
                                       full_org));
  streams.remove(reader_at("192.0.2.7"));
  EXPECT_EQ(full(streams), "");
  streams.add(reader_at("2001:db8:1:2:ffff::1"), 0);
  EXPECT_EQ(full(streams), "network 2001:db8:1:2:: 2/2 user 019ac3a27e107b429d0a5f1c2a3b4c5d 2/2 ");
}

TEST(FullHolders, FollowTheirLimits) {
  OpenStreams streams;
  streams.add(reader_at("192.0.2.7"), 0);
  EXPECT_EQ(full(streams), "") << "no limit is none";
  streams.use_limits({.of_org = 1});
  EXPECT_EQ(full(streams), std::string(full_org) + "1/1 ");
  streams.use_limits({.of_org = 2});
  EXPECT_EQ(full(streams), "") << "at once, without another stream";
  EXPECT_THROW(streams.check(reader_at("192.0.2.7"), 1), Error);
  EXPECT_EQ(full(streams), std::string(full_org) + "1/1 ") << "it was granted less since";
  streams.use_limits({.of_org = 5});
  EXPECT_EQ(full(streams), std::string(full_org) + "1/1 ") << "what was granted stays";
  streams.check(reader_at("192.0.2.7"), 5);
  EXPECT_EQ(full(streams), "");
}

TEST(FullHolders, AreThoseWhoStayedSo) {
  OpenStreams streams;
  streams.use_limits({.of_user = 1});
  streams.add(reader_at("192.0.2.7"), 0);
  EXPECT_EQ(streams.full_holders(3'600'000), "[]") << "not for an hour yet";
  EXPECT_NE(streams.full_holders(0), "[]");
}

TEST(FullHolders, AreBounded) {
  OpenStreams streams;
  streams.use_limits({.of_network = 1});
  for (int i = 0; i < 1200; ++i) {
    streams.add(reader_at(fmt::format("198.51.{}.{}", i / 200, i % 200)), 0);
  }
  EXPECT_EQ(parse_json_or_nothing(streams.full_holders(0))->as_array()->size(), 1000u);
  EXPECT_THROW(streams.check_network(net::IpAddress::parse("198.51.5.199").value()), Error);
}

}  // namespace
}  // namespace hostler::relay
