// See sse-relay/open_streams.h.
#include "sse-relay/open_streams.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "lib/error.h"

namespace hostler::relay {
namespace {

constexpr int retry_after_s = 5;

bool is_known(const std::array<char, 17>& key) {
  return std::any_of(key.begin() + 1, key.end(), [](char byte) { return byte != 0; });
}

std::array<char, 17> key_of(char kind, const UuidBytes& id) {
  std::array<char, 17> key{kind};
  std::copy(id.begin(), id.end(), key.begin() + 1);
  return key;
}

}  // namespace

void OpenStreams::use_limits(const StreamLimits& limits) {
  of_user_ = limits.of_user;
  of_org_ = limits.of_org;
  of_network_ = limits.of_network;
}

// Of a key's streams only the organization's are counted.
OpenStreams::Key OpenStreams::user_key(const StreamReader& reader) {
  return key_of('u', reader.user_id);
}

OpenStreams::Key OpenStreams::org_key(const StreamReader& reader) {
  return key_of('o', reader.org_id);
}

// One host is an address of version 4, also in its form of version 6, or 64 bits of version 6:
// what a client gets. network_of() in sql/schema/foundation.sql says the same.
OpenStreams::Key OpenStreams::network_key(const net::IpAddress& address) {
  constexpr std::array<uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  const auto* bytes = address.bytes.data();
  bool is_mapped = !address.is_v4 && memcmp(bytes, mapped.data(), mapped.size()) == 0;
  Key key{address.is_v4 || is_mapped ? '4' : '6'};
  size_t from = is_mapped ? mapped.size() : 0;
  memcpy(key.data() + 1, bytes + from, key[0] == '4' ? 4 : 8);
  return key;
}

OpenStreams::Keys OpenStreams::keys_of(const StreamReader& reader) {
  return {user_key(reader), org_key(reader), network_key(reader.address)};
}

void OpenStreams::check_one(const Key& key, int64_t limit, const char* whose) const {
  if (limit <= 0 || !is_known(key)) return;
  auto found = counts_.find(key);
  if (found == counts_.end() || found->second < limit) return;
  Error error(ErrorCode::streams_limit_exceeded,
              fmt::format("{} may hold {} streams open; close one first.", whose, limit));
  error.retry_after_s = retry_after_s;
  throw error;
}

void OpenStreams::check_network(const net::IpAddress& address) const {
  check_one(network_key(address), of_network_, "A network");
}

void OpenStreams::check(const StreamReader& reader, int64_t limit_of_org) const {
  check_network(reader.address);
  check_one(user_key(reader), of_user_, "A user");
  check_one(org_key(reader), limit_of_org, "An organization");
}

void OpenStreams::add(const StreamReader& reader) {
  for (const Key& key : keys_of(reader)) {
    if (is_known(key)) ++counts_[key];
  }
}

void OpenStreams::remove(const StreamReader& reader) {
  for (const Key& key : keys_of(reader)) {
    auto found = counts_.find(key);
    if (found != counts_.end() && --found->second == 0) counts_.erase(found);
  }
}

}  // namespace hostler::relay
