// One run event as bytes on the wire. Written by the runner for live events and by the relay for
// stored ones, so both give every subscriber the same bytes. Never reads JSON.
//
//   id: 17\n
//   data: {"seq":17,"type":"message.delta","data":{"content":"Hi"},"created_at":"2026-…Z"}\n
//   \n
//
// No frame holds an empty line inside. Frames one behind the other: lib/events/event_batch.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hostler::events {

// data_json is one JSON value as it is stored. A line end in it, which JSON admits between its
// members only, becomes a space: it would break the frame apart (HTML standard, section 9.2.6).
void append_frame(std::string& out, int64_t seq, std::string_view type, std::string_view data_json,
                  std::string_view created_at);

// An event of this type is the last of its run (contract section 4).
constexpr bool is_terminal_event(std::string_view type) {
  return type == "run.completed" || type == "run.failed" || type == "run.cancelled";
}

}  // namespace hostler::events
