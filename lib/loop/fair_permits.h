// How many hold something at once, in all and of one party: who waits goes on round-robin over the
// parties, of each in the order in which it came, so that nobody's flood is in the way of others.
// For tool calls (party: an organization's id) and dedicated connections (lib/postgres).
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/wait.h"

namespace hostler::loop {

struct PermitShares {
  size_t permits_max;
  size_t party_permits_max;
};

template <class Party>
class FairPermits {
 public:
  FairPermits(Loop& loop, PermitShares shares)
      : limits_(shares), turn_(loop, [this] { serve(); }) {}
  FairPermits(const FairPermits&) = delete;
  FairPermits& operator=(const FairPermits&) = delete;

  // Given back by its destructor, on the loop; one that lives on behind the permits is nobody's.
  class Permit {
   public:
    Permit(FairPermits& permits, Party party)
        : permits_(&permits), party_(std::move(party)), lives_(permits.lives_) {
      ++permits_->held_;
      ++permits_->shares_[party_].held;
    }
    Permit(Permit&& other) noexcept
        : permits_(std::exchange(other.permits_, nullptr)),
          party_(std::move(other.party_)),
          lives_(std::move(other.lives_)) {}
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;
    Permit& operator=(Permit&&) = delete;
    ~Permit() {
      if (permits_ != nullptr && !lives_.expired()) permits_->give_back(party_);
    }

   private:
    FairPermits* permits_;
    Party party_;
    std::weak_ptr<void> lives_;
  };

  // Now, or not at all: nobody is passed by who waits and may go on.
  std::optional<Permit> take_at_once(const Party& party) {
    if (!has_room_now(party)) return std::nullopt;
    return std::optional<Permit>(std::in_place, *this, party);
  }
  // Waits until there is room, in all and in the party's share. Who cancels has none.
  Task<Permit> take(Party party) {
    if (!has_room_now(party)) {
      Waiter waiter(*this, party);
      turn_.restart(0);
      while (!waiter.is_served()) {
        co_await waiter.served().wait();
      }
    }
    Permit permit(*this, std::move(party));
    co_return std::move(permit);
  }

  size_t held() const { return held_; }
  size_t waiting() const { return waiting_; }

 private:
  // Stands in its party's line until it is served or destroyed.
  class Waiter {
   public:
    Waiter(FairPermits& permits, Party party) : permits_(permits), party_(std::move(party)) {
      std::list<Waiter*>& line = permits_.shares_[party_].waiting;
      place_ = line.insert(line.end(), this);
      ++permits_.waiting_;
    }
    ~Waiter() {
      if (is_served_) return;
      leave_line();
      permits_.forget_if_idle(party_);
    }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    bool is_served() const { return is_served_; }
    Signal& served() { return served_; }
    // The permit is the caller's from here on.
    void serve() {
      leave_line();
      is_served_ = true;
      served_.notify();
    }

   private:
    void leave_line() {
      permits_.shares_[party_].waiting.erase(place_);
      --permits_.waiting_;
    }

    FairPermits& permits_;
    const Party party_;
    typename std::list<Waiter*>::iterator place_;
    bool is_served_ = false;
    Signal served_;
  };

  struct Share {
    size_t held = 0;
    std::list<Waiter*> waiting;
  };
  using Shares = std::map<Party, Share>;

  bool has_room_now(const Party& party) const {
    if (turn_.pending() || held_ >= limits_.permits_max) return false;
    auto share = shares_.find(party);
    return share == shares_.end() || share->second.held < limits_.party_permits_max;
  }

  // A resumed waiter takes its permit at once. It may wait for another, return one or be destroyed,
  // so nothing is kept across the call.
  void serve() {
    while (waiting_ > 0 && held_ < limits_.permits_max) {
      auto next = next_in_turn();
      if (next == shares_.end()) return;
      last_served_ = next->first;
      next->second.waiting.front()->serve();
    }
  }

  // Behind the one that was served last, in a circle; end(): nobody who waits has room.
  typename Shares::iterator next_in_turn() {
    auto may_go_on = [this](const Share& share) {
      return !share.waiting.empty() && share.held < limits_.party_permits_max;
    };
    auto first = last_served_ ? shares_.upper_bound(*last_served_) : shares_.begin();
    for (auto share = first; share != shares_.end(); ++share) {
      if (may_go_on(share->second)) return share;
    }
    for (auto share = shares_.begin(); share != first; ++share) {
      if (may_go_on(share->second)) return share;
    }
    return shares_.end();
  }

  void give_back(const Party& party) {
    --held_;
    --shares_[party].held;
    forget_if_idle(party);
    if (waiting_ > 0) turn_.restart(0);
  }

  void forget_if_idle(const Party& party) {
    auto share = shares_.find(party);
    if (share == shares_.end()) return;
    if (share->second.held == 0 && share->second.waiting.empty()) shares_.erase(share);
  }

  const PermitShares limits_;
  Shares shares_;  // of parties that hold something or wait
  std::optional<Party> last_served_;
  size_t held_ = 0;
  size_t waiting_ = 0;
  std::shared_ptr<void> lives_ = std::make_shared<char>();
  Timer turn_;  // who gives back resumes nobody: that happens in a turn of the loop
};

}  // namespace hostler::loop
