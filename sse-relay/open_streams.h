// How many streams are open here, of each user, organization and network, and whether one more may
// be (contract section 7). Counted by this daemon alone: what it forgets with its end are streams
// that ended with it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>

#include "lib/ids.h"
#include "lib/net/address_guard.h"
#include "sse-relay/stream_options.h"

namespace hostler::relay {

// Who follows, for the checks that they may, and still may: a session's id and its user's, or a
// key's; the others all zero.
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
  int64_t limit_of_org() const { return of_org_.load(); }  // unless an entitlement says otherwise

  // Each throws streams_limit_exceeded; a limit of 0 is none.
  void check_network(const net::IpAddress& address) const;
  void check(const StreamReader& reader, int64_t limit_of_org) const;

  void add(const StreamReader& reader);
  void remove(const StreamReader& reader);

 private:
  using Key = std::array<char, 17>;  // what it is the id of, and the id
  using Keys = std::array<Key, 3>;
  static Key user_key(const StreamReader& reader);
  static Key org_key(const StreamReader& reader);
  static Key network_key(const net::IpAddress& address);
  static Keys keys_of(const StreamReader& reader);
  void check_one(const Key& key, int64_t limit, const char* whose) const;

  std::atomic<int64_t> of_user_ = 0;
  std::atomic<int64_t> of_org_ = 0;
  std::atomic<int64_t> of_network_ = 0;
  // Keys of many kinds that clients may choose: in order, so that nobody makes them collide.
  std::map<Key, int64_t> counts_;
};

}  // namespace hostler::relay
