// See sse-relay/open_streams.h.
#include "sse-relay/open_streams.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/error.h"
#include "lib/json.h"

namespace hostler::relay {
namespace {

constexpr int retry_after_s = 5;
constexpr size_t full_max = 1000;

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool is_known(const std::array<char, 17>& key) {
  return std::any_of(key.begin() + 1, key.end(), [](char byte) { return byte != 0; });
}

std::array<char, 17> key_of(char kind, const UuidBytes& id) {
  std::array<char, 17> key{kind};
  std::copy(id.begin(), id.end(), key.begin() + 1);
  return key;
}

std::string_view kind_of(const std::array<char, 17>& key) {
  if (key[0] == 'u') return "user";
  return key[0] == 'o' ? "organization" : "network";
}

std::string id_of(const std::array<char, 17>& key) {
  std::string_view bytes(key.data() + 1, key.size() - 1);
  if (key[0] == 'u' || key[0] == 'o') return to_hex(bytes);
  net::IpAddress address;
  address.is_v4 = key[0] == '4';
  memcpy(address.bytes.data(), bytes.data(), bytes.size());
  return address.text();
}

}  // namespace

// An organization without an entitlement has the limit of all: what it was found with last.
void OpenStreams::use_limits(const StreamLimits& limits) {
  std::lock_guard<std::mutex> lock(lock_);
  int64_t of_orgs_before = limits_.of_org;
  limits_ = limits;
  for (auto& [key, count] : counts_) {
    bool is_granted = key[0] == 'o' && count.limit != of_orgs_before;
    count.limit = limit_of(key, is_granted ? count.limit : limits.of_org);
    mark(key, count);
  }
}

int64_t OpenStreams::limit_of_org() const {
  std::lock_guard<std::mutex> lock(lock_);
  return limits_.of_org;
}

// A key's streams count only for the organization.
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

int64_t OpenStreams::limit_of(const Key& key, int64_t limit_of_org) const {
  if (key[0] == 'u') return limits_.of_user;
  return key[0] == 'o' ? limit_of_org : limits_.of_network;
}

void OpenStreams::check_one(const Key& key, int64_t limit, const char* whose) {
  auto found = counts_.find(key);
  if (found == counts_.end()) return;
  found->second.limit = limit;
  mark(key, found->second);
  if (limit <= 0 || found->second.streams < limit) return;
  Error error(ErrorCode::streams_limit_exceeded,
              fmt::format("{} may have {} open streams. Close one first.", whose, limit));
  error.retry_after_s = retry_after_s;
  throw error;
}

void OpenStreams::check_network(const net::IpAddress& address) {
  std::lock_guard<std::mutex> lock(lock_);
  check_one(network_key(address), limits_.of_network, "A network");
}

void OpenStreams::check(const StreamReader& reader, int64_t limit_of_org) {
  std::lock_guard<std::mutex> lock(lock_);
  check_one(network_key(reader.address), limits_.of_network, "A network");
  check_one(user_key(reader), limits_.of_user, "A user");
  check_one(org_key(reader), limit_of_org, "An organization");
}

void OpenStreams::add(const StreamReader& reader, int64_t limit_of_org) {
  std::lock_guard<std::mutex> lock(lock_);
  for (const Key& key : {user_key(reader), org_key(reader), network_key(reader.address)}) {
    if (!is_known(key)) continue;
    Count& count = counts_[key];
    ++count.streams;
    count.limit = limit_of(key, limit_of_org);
    mark(key, count);
  }
}

void OpenStreams::remove(const StreamReader& reader) {
  std::lock_guard<std::mutex> lock(lock_);
  for (const Key& key : {user_key(reader), org_key(reader), network_key(reader.address)}) {
    auto found = counts_.find(key);
    if (found == counts_.end()) continue;
    --found->second.streams;
    mark(key, found->second);
    if (found->second.streams == 0) counts_.erase(found);
  }
}

// Whether it is among the full ones.
void OpenStreams::mark(const Key& key, const Count& count) {
  if (count.limit <= 0 || count.streams < count.limit) {
    full_since_ms_.erase(key);
  } else if (full_since_ms_.size() < full_max) {
    full_since_ms_.try_emplace(key, now_ms());
  }
}

std::string OpenStreams::full_holders(int64_t for_ms) const {
  int64_t since_ms = now_ms() - for_ms;
  std::lock_guard<std::mutex> lock(lock_);
  JsonWriter json;
  json.begin_array();
  for (const auto& [key, full_since_ms] : full_since_ms_) {
    if (full_since_ms > since_ms) continue;
    const Count& count = counts_.at(key);
    json.begin_object().member("kind", kind_of(key)).member("id", id_of(key));
    json.member("streams", count.streams).member("limit_streams", count.limit).end_object();
  }
  return json.end_array().take();
}

}  // namespace hostler::relay
