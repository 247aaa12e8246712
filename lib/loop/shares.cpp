// See lib/loop/shares.h.
#include "lib/loop/shares.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hostler::loop {
namespace {

// Share of a round. Then the next round begins, so that the amount of sent claims has a bound.
constexpr size_t turns_max = 1000;

}  // namespace

std::vector<std::string> Shares::full() const {
  std::vector<std::string> ids;
  for (const auto& [id, count] : held_) {
    if (count >= share_max_) ids.push_back(id);
  }
  return ids;
}

bool Shares::is_full(const std::string& id) const {
  auto held = held_.find(id);
  return held != held_.end() && held->second >= share_max_;
}

bool Shares::passes_over(const std::string& id) const {
  return is_full(id) || had_turn_.contains(id);
}

std::vector<std::string> Shares::passed_over() const {
  std::vector<std::string> ids = full();
  std::copy_if(had_turn_.begin(), had_turn_.end(), std::back_inserter(ids),
               [this](const std::string& id) { return !is_full(id); });
  return ids;
}

bool Shares::begin_round() {
  bool is_other = !had_turn_.empty();
  had_turn_.clear();
  return is_other;
}

void Shares::take(const std::string& id) {
  if (id.empty()) return;
  ++held_[id];
  if (had_turn_.size() >= turns_max) had_turn_.clear();
  had_turn_.insert(id);
}

void Shares::give_back(const std::string& id) {
  if (id.empty()) return;
  if (--held_[id] == 0) held_.erase(id);
}

Shares::Slot::Slot(Shares& shares, std::string org_id, std::string user_id)
    : shares_(shares), org_id_(std::move(org_id)), user_id_(std::move(user_id)) {
  shares_.take(org_id_);
  shares_.take(user_id_);
}

Shares::Slot::~Slot() {
  shares_.give_back(user_id_);
  shares_.give_back(org_id_);
}

}  // namespace hostler::loop
