// Which daemons are gone: those without a heartbeat for a lease. Timed by this process's own steady
// clock, so that no step of a host's clock takes runs away; and only while Postgres answered, since
// nobody's heartbeat is written without it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace hostler::runner {

struct RunOwner {
  std::string daemon_id;
  std::optional<int64_t> heartbeats;  // how many; none: no daemon of this id is known
  bool operator==(const RunOwner&) const = default;
};

class LostDaemons {
 public:
  // look_ms: the time between two looks. A longer pause counts as one, because a daemon that could
  // not look may not have written a heartbeat either.
  explicit LostDaemons(int64_t look_ms) : look_ms_(look_ms) {}

  // The owners of runs as of now; answers those that have as many heartbeats as a lease ago. What
  // is answered is so again by the next look while it owns runs.
  std::vector<RunOwner> look(const std::vector<RunOwner>& owners, int64_t now_ms, int64_t lease_ms);
  // Postgres did not answer, so every lease starts again.
  void looked_in_vain() { watched_.clear(); }

 private:
  struct Watched {
    std::optional<int64_t> heartbeats;
    int64_t still_ms = 0;
  };
  int64_t look_ms_;
  int64_t looked_at_ms_ = 0;
  std::unordered_map<std::string, Watched> watched_;
};

}  // namespace hostler::runner
