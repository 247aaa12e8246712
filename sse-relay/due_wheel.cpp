// The wheel; see sse-relay/due_wheel.h.
#include "sse-relay/due_wheel.h"

#include <algorithm>
#include <utility>

namespace hostler::relay {

void DueWheel::place(Client& client, int64_t due_ms) {
  remove(client);
  int64_t due_tick = (due_ms + tick_ms_ - 1) / tick_ms_;
  due_tick = std::clamp(due_tick, tick_ + 1, tick_ + buckets - 1);
  auto bucket = static_cast<size_t>(due_tick % buckets);
  client.wheel_bucket = static_cast<uint8_t>(bucket + 1);
  client.wheel_slot = static_cast<uint32_t>(clients_[bucket].size());
  clients_[bucket].push_back(&client);
}

void DueWheel::remove(Client& client) {
  if (client.wheel_bucket == nowhere) return;
  std::vector<Client*>& bucket = clients_[client.wheel_bucket - 1U];
  bucket[client.wheel_slot] = bucket.back();
  bucket[client.wheel_slot]->wheel_slot = client.wheel_slot;
  bucket.pop_back();
  client.wheel_bucket = nowhere;
}

void DueWheel::advance(int64_t now_ms, const std::function<void(Client&)>& visit) {
  int64_t now_tick = now_ms / tick_ms_;
  // After a long pause every bucket is visited once.
  tick_ = std::max(tick_, now_tick - buckets);
  while (tick_ < now_tick) {
    ++tick_;
    std::vector<Client*> due = std::exchange(clients_[static_cast<size_t>(tick_ % buckets)], {});
    for (Client* client : due) client->wheel_bucket = nowhere;
    for (Client* client : due) visit(*client);
  }
}

}  // namespace hostler::relay
