// Order in which a turn tries the routes of its run's chain. Plain decisions: route_chain.cpp asks
// the models.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace hostler::runner {

struct RouteState {
  std::string id;
  bool is_left_out = false;  // by the model's circuit breaker
};

// A change from one route to another, as run.fell_back reports it.
struct RouteHop {
  std::string from;
  std::string to;
  std::string reason;  // http_503, timeout_idle, circuit_open, budget, …

  bool operator==(const RouteHop&) const = default;
};

class RouteWalk {
 public:
  // The run's current route comes first, then those after it in the chain, then those before it.
  RouteWalk(const std::vector<RouteState>& chain, const std::string& current_id);

  // Place in the chain of the route that is next; nothing: none is left.
  std::optional<size_t> at() const;
  // No other route follows.
  bool is_last() const { return at_ + 1 >= order_.size(); }
  // The route is to be left out for its circuit breaker. The last one never is.
  bool is_left_out() const;

  // The next call decides about another route.
  void fail(const std::string& reason);
  void skip(const std::string& reason);
  // The breaker leaves the route out. It is tried in the end, if no route after it could be asked.
  void leave_out();

  // The changes of route since the last call, up to the route that is next.
  std::vector<RouteHop> take_hops();

 private:
  void go_on(const std::string& reason);

  std::vector<RouteState> chain_;
  std::vector<size_t> order_;
  size_t at_ = 0;
  std::optional<size_t> deferred_;  // the last one that its breaker left out
  std::vector<RouteHop> hops_;
};

}  // namespace hostler::runner
