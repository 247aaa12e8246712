// Counts the open streams of each user, organization and network, and decides whether one more is
// allowed (contract section 4). Counted by this daemon alone: its count ends together with its
// streams. Any thread may ask who has reached the limit.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "lib/ids.h"
#include "lib/net/address_guard.h"
#include "sse-relay/stream_options.h"

namespace hostler::relay {

// Identity of a subscriber for the permission checks: a session's id and its user's, or a key's;
// the others all zero.
struct StreamReader {
  UuidBytes session_id{};
  UuidBytes user_id{};
  UuidBytes api_key_id{};
  UuidBytes org_id{};
  net::IpAddress address;  // 0.0.0.0: nobody knows
};

class OpenStreams {
 public:
  // From any thread. Until then nothing is refused.
  void use_limits(const StreamLimits& limits);
  int64_t limit_of_org() const;  // unless an entitlement says otherwise

  // Each throws streams_limit_exceeded; a limit of 0 means any number.
  void check_network(const net::IpAddress& address);
  void check(const StreamReader& reader, int64_t limit_of_org);

  void add(const StreamReader& reader, int64_t limit_of_org);
  void remove(const StreamReader& reader);

  // Callers that have been at their limit for so long without a break, as JSON: [{kind, id,
  // streams, limit_streams}]. From any thread. Of more than a thousand the newest are left out:
  // they are refused anyway.
  std::string full_holders(int64_t for_ms) const;

 private:
  using Key = std::array<char, 17>;  // what it is the id of, and the id
  struct Count {
    int64_t streams = 0;
    int64_t limit = 0;  // an organization's: as it was found when it was asked for last
  };
  static Key user_key(const StreamReader& reader);
  static Key org_key(const StreamReader& reader);
  static Key network_key(const net::IpAddress& address);
  int64_t limit_of(const Key& key, int64_t limit_of_org) const;
  void check_one(const Key& key, int64_t limit, const char* whose);
  void mark(const Key& key, const Count& count);

  mutable std::mutex lock_;  // of all that follows
  StreamLimits limits_;
  // Keys of many kinds that clients may choose: in order, so that nobody makes them collide.
  std::map<Key, Count> counts_;
  std::map<Key, int64_t> full_since_ms_;
};

}  // namespace hostler::relay
