// See runner/tools/tool_permits.h.
#include "runner/tools/tool_permits.h"

#include <utility>

namespace hostler::runner {

// Stands in its organization's line until it is served or destroyed.
class ToolPermits::Waiter {
 public:
  Waiter(ToolPermits& permits, std::string org_id) : permits_(permits), org_id_(std::move(org_id)) {
    std::list<Waiter*>& line = permits_.shares_[org_id_].waiting;
    place_ = line.insert(line.end(), this);
    ++permits_.waiting_;
  }
  ~Waiter() {
    if (is_served_) return;
    leave_line();
    permits_.forget_if_idle(org_id_);
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  bool is_served() const { return is_served_; }
  loop::Signal& served() { return served_; }
  // The permit is the caller's from here on.
  void serve() {
    leave_line();
    is_served_ = true;
    served_.notify();
  }

 private:
  void leave_line() {
    permits_.shares_[org_id_].waiting.erase(place_);
    --permits_.waiting_;
  }

  ToolPermits& permits_;
  const std::string org_id_;
  std::list<Waiter*>::iterator place_;
  bool is_served_ = false;
  loop::Signal served_;
};

ToolPermits::Permit::Permit(ToolPermits& permits, std::string org_id)
    : permits_(&permits), org_id_(std::move(org_id)), lives_(permits.lives_) {
  ++permits_->under_way_;
  ++permits_->shares_[org_id_].under_way;
}

ToolPermits::Permit::Permit(Permit&& other) noexcept
    : permits_(std::exchange(other.permits_, nullptr)),
      org_id_(std::move(other.org_id_)),
      lives_(std::move(other.lives_)) {}

ToolPermits::Permit::~Permit() {
  if (permits_ != nullptr && !lives_.expired()) permits_->give_back(org_id_);
}

ToolPermits::ToolPermits(loop::Loop& loop, ToolShares shares)
    : limits_(shares), turn_(loop, [this] { serve(); }) {}

// Nobody who waits is passed by.
bool ToolPermits::has_room_now(const std::string& org_id) const {
  if (waiting_ > 0 || under_way_ >= limits_.calls_max) return false;
  auto share = shares_.find(org_id);
  return share == shares_.end() || share->second.under_way < limits_.org_calls_max;
}

Task<ToolPermits::Permit> ToolPermits::take(std::string org_id) {
  if (!has_room_now(org_id)) {
    Waiter waiter(*this, org_id);
    turn_.restart(0);
    while (!waiter.is_served()) {
      co_await waiter.served().wait();
    }
  }
  Permit permit(*this, std::move(org_id));
  co_return std::move(permit);
}

// Behind the one that was served last, in a circle; end(): nobody who waits has room.
std::map<std::string, ToolPermits::Share>::iterator ToolPermits::next_in_turn() {
  auto may_go_on = [this](const Share& share) {
    return !share.waiting.empty() && share.under_way < limits_.org_calls_max;
  };
  auto first = shares_.upper_bound(last_served_);
  for (auto share = first; share != shares_.end(); ++share) {
    if (may_go_on(share->second)) return share;
  }
  for (auto share = shares_.begin(); share != first; ++share) {
    if (may_go_on(share->second)) return share;
  }
  return shares_.end();
}

// Whoever is resumed takes its permit at once, and may wait for another, give one back or be
// destroyed: nothing is kept over it.
void ToolPermits::serve() {
  while (waiting_ > 0 && under_way_ < limits_.calls_max) {
    auto next = next_in_turn();
    if (next == shares_.end()) return;
    last_served_ = next->first;
    next->second.waiting.front()->serve();
  }
}

void ToolPermits::give_back(const std::string& org_id) {
  --under_way_;
  --shares_[org_id].under_way;
  forget_if_idle(org_id);
  if (waiting_ > 0) turn_.restart(0);
}

void ToolPermits::forget_if_idle(const std::string& org_id) {
  auto share = shares_.find(org_id);
  if (share == shares_.end()) return;
  if (share->second.under_way == 0 && share->second.waiting.empty()) shares_.erase(share);
}

}  // namespace hostler::runner
