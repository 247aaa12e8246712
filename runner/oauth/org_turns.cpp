// See runner/oauth/org_turns.h.
#include "runner/oauth/org_turns.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hostler::runner {
namespace {

// Of a round; then the next begins, so that what claims are sent has a bound.
constexpr size_t turns_max = 1000;

}  // namespace

std::vector<std::string> OrgTurns::full() const {
  std::vector<std::string> orgs;
  for (const auto& [org_id, count] : held_) {
    if (count >= share_max_) orgs.push_back(org_id);
  }
  return orgs;
}

bool OrgTurns::is_full(const std::string& org_id) const {
  auto held = held_.find(org_id);
  return held != held_.end() && held->second >= share_max_;
}

std::vector<std::string> OrgTurns::passed_over() const {
  std::vector<std::string> orgs = full();
  std::copy_if(had_turn_.begin(), had_turn_.end(), std::back_inserter(orgs),
               [this](const std::string& org_id) { return !is_full(org_id); });
  return orgs;
}

bool OrgTurns::begin_round() {
  bool is_other = !had_turn_.empty();
  had_turn_.clear();
  return is_other;
}

OrgTurns::Slot::Slot(OrgTurns& turns, std::string org_id)
    : turns_(turns), org_id_(std::move(org_id)) {
  ++turns_.held_[org_id_];
  if (turns_.had_turn_.size() >= turns_max) turns_.had_turn_.clear();
  turns_.had_turn_.insert(org_id_);
}

OrgTurns::Slot::~Slot() {
  if (--turns_.held_[org_id_] == 0) turns_.held_.erase(org_id_);
}

}  // namespace hostler::runner
