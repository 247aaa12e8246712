// See runner/agent/route_walk.h.
#include "runner/agent/route_walk.h"

#include <algorithm>
#include <utility>

namespace hostler::runner {

RouteWalk::RouteWalk(const std::vector<RouteState>& chain, const std::string& current_id)
    : chain_(chain) {
  for (size_t i = 0; i < chain_.size(); ++i) order_.push_back(i);
  auto current = std::find_if(order_.begin(), order_.end(),
                              [&](size_t i) { return chain_[i].id == current_id; });
  if (current != order_.end()) std::rotate(order_.begin(), current, order_.end());
}

std::optional<size_t> RouteWalk::at() const {
  if (at_ >= order_.size()) return std::nullopt;
  return order_[at_];
}

bool RouteWalk::is_left_out() const {
  return at_ < order_.size() && !is_last() && chain_[order_[at_]].is_left_out;
}

void RouteWalk::fail(const std::string& reason) {
  // A route was asked after those that their breakers left out.
  deferred_.reset();
  go_on(reason);
}

void RouteWalk::skip(const std::string& reason) {
  if (is_last() && deferred_) order_.push_back(*std::exchange(deferred_, std::nullopt));
  go_on(reason);
}

void RouteWalk::leave_out() {
  deferred_ = order_[at_];
  go_on("circuit_open");
}

void RouteWalk::go_on(const std::string& reason) {
  const std::string& from = chain_[order_[at_]].id;
  ++at_;
  if (at_ < order_.size()) hops_.push_back({from, chain_[order_[at_]].id, reason});
}

std::vector<RouteHop> RouteWalk::take_hops() { return std::exchange(hops_, {}); }

}  // namespace hostler::runner
