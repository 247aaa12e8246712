// Which daemons are gone: those whose beat stood still for a lease. Counted by this process's own
// steady clock, so that no step of a host's clock takes runs away; and only while Postgres answered,
// since nobody's beat is written without it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace hostler::runner {

struct RunOwner {
  std::string daemon_id;
  std::optional<int64_t> beat;  // none: no daemon of this id is known
  bool operator==(const RunOwner&) const = default;
};

class LostDaemons {
 public:
  // look_ms: how often somebody looks; a longer pause counts as one, because whoever could not look
  // might not have been able to beat either.
  explicit LostDaemons(int64_t look_ms) : look_ms_(look_ms) {}

  // The owners of runs as of now; answers those whose beat is what it was a lease ago. An answered
  // one is answered again by the next look while it owns runs.
  std::vector<RunOwner> look(const std::vector<RunOwner>& owners, int64_t now_ms, int64_t lease_ms);
  // Postgres did not answer: every lease begins anew.
  void looked_in_vain() { watched_.clear(); }

 private:
  struct Watched {
    std::optional<int64_t> beat;
    int64_t still_ms = 0;
  };
  int64_t look_ms_;
  int64_t looked_at_ms_ = 0;
  std::unordered_map<std::string, Watched> watched_;
};

}  // namespace hostler::runner
