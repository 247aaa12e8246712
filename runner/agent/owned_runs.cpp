// See runner/agent/owned_runs.h.
#include "runner/agent/owned_runs.h"

#include <iterator>
#include <set>

namespace hostler::runner {

std::vector<std::string> OwnedRuns::take(const std::vector<OwnedRun>& page,
                                         const std::map<std::string, int64_t>& executed) {
  bool is_last = std::ssize(page) < page_max;
  auto is_within = [&](const std::string& run_id) {
    return run_id > after_ && (is_last || run_id <= page.back().run_id);
  };
  std::set<std::string> owned;
  std::unordered_map<std::string, int64_t> seen;
  orphans_.clear();
  for (const OwnedRun& run : page) {
    auto ours = executed.find(run.run_id);
    if (ours != executed.end()) {
      if (ours->second == run.epoch) owned.insert(run.run_id);
      continue;
    }
    seen.emplace(run.run_id, run.epoch);
    auto before = seen_.find(run.run_id);
    if (before != seen_.end() && before->second == run.epoch) orphans_.push_back(run);
  }
  std::erase_if(seen_, [&](const auto& entry) { return is_within(entry.first); });
  seen_.merge(seen);
  std::vector<std::string> lost;
  for (const auto& [run_id, epoch] : executed) {
    if (is_within(run_id) && !owned.contains(run_id)) lost.push_back(run_id);
  }
  after_ = is_last ? first_ : page.back().run_id;
  return lost;
}

}  // namespace hostler::runner
