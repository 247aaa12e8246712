// When each client has to be looked at again: one timer for all of them. A client is in one bucket
// or in none; sending it something moves nothing, who looks at it decides again.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "sse-relay/client.h"

namespace hostler::relay {

class DueWheel {
 public:
  DueWheel(int64_t tick_ms, int64_t now_ms) : tick_ms_(tick_ms), tick_(now_ms / tick_ms) {}

  // Not before the moment, and at most a tick after it; what is farther than the wheel is round
  // comes early.
  void place(Client& client, int64_t due_ms);
  void remove(Client& client);
  // Takes out who is due and visits them. A visit may place or destroy its own client only.
  void advance(int64_t now_ms, const std::function<void(Client&)>& visit);

 private:
  static constexpr uint8_t nowhere = 0;  // buckets are counted from 1
  static constexpr int64_t buckets = 64;

  int64_t tick_ms_;
  int64_t tick_;  // the last one that was visited
  std::array<std::vector<Client*>, buckets> clients_;
};

}  // namespace hostler::relay
