// See sse-relay/subscriber.h.
#include "sse-relay/subscriber.h"

#include <array>

#include "sse-relay/stream_answer.h"

namespace hostler::relay {

void Subscriber::send_frames(const loop::SharedBytes& frames, formats::HeldStatus status,
                             int64_t now_ms) {
  if (!is_held()) {
    send(frames, now_ms);
    return;
  }
  std::string head = held_head(status, *held_fields_, frames->size());
  std::array<loop::SharedBytes, 2> buffers{std::make_shared<const std::string>(std::move(head)),
                                           frames};
  send(buffers, now_ms);
}

}  // namespace hostler::relay
