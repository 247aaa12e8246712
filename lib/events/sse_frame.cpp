// Frames of the event stream; see lib/events/sse_frame.h.
#include "lib/events/sse_frame.h"

#include <fmt/format.h>

namespace hostler::events {

void append_frame(std::string& out, int64_t seq, std::string_view type, std::string_view data_json,
                  std::string_view created_at) {
  fmt::format_int digits(seq);
  std::string_view number(digits.data(), digits.size());
  out.reserve(out.size() + 2 * number.size() + type.size() + data_json.size() + created_at.size() +
              64);
  out.append("id: ").append(number);
  out.append("\ndata: {\"seq\":").append(number);
  out.append(",\"type\":\"").append(type);
  out.append("\",\"data\":");
  size_t data_begin = out.size();
  out.append(data_json);
  for (size_t i = data_begin; i < out.size(); ++i) {
    if (out[i] == '\n' || out[i] == '\r') out[i] = ' ';
  }
  out.append(",\"created_at\":\"").append(created_at);
  out.append("\"}\n\n");
}

}  // namespace hostler::events
