// Compares the runs that the database assigns to a daemon with those that it executes, a page with
// each heartbeat. A run that another daemon took is abandoned. A run that nobody executes (its
// claim's answer was lost, or it was abandoned) is handed back.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace hostler::runner {

struct OwnedRun {
  std::string run_id;
  int64_t epoch = 0;
};

class OwnedRuns {
 public:
  static constexpr int64_t page_max = 200;

  // Behind which run the next page begins; pages follow each other round and round.
  const std::string& after() const { return after_; }
  bool is_at_begin() const { return after_ == first_; }
  // From the beginning: what was seen of others counts no more.
  void begin_anew() { after_ = first_; }

  // Takes the page that was asked for while the daemon executed `executed`, ids with their epochs.
  // Answers the executed ones that it does not own.
  std::vector<std::string> take(const std::vector<OwnedRun>& page,
                                const std::map<std::string, int64_t>& executed);
  // Runs of the last page that nobody executed at two looks. An outcome or a claim's answer on its
  // way looks the same once.
  const std::vector<OwnedRun>& orphans() const { return orphans_; }

 private:
  static constexpr const char* first_ = "00000000-0000-0000-0000-000000000000";
  std::string after_ = first_;
  std::unordered_map<std::string, int64_t> seen_;  // not executed, by id their epochs
  std::vector<OwnedRun> orphans_;
};

}  // namespace hostler::runner
