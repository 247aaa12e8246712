// Frames of the event stream; see lib/formats/native.h.
#include "lib/formats/native.h"

#include <fmt/format.h>

namespace hostler::formats {
namespace {

// A line end in the data, which JSON admits between its members only, becomes a space: it would
// break the frame apart (HTML standard, section 9.2.6).
void append_on_one_line(std::string_view data_json, std::string& out) {
  size_t begin = out.size();
  out.append(data_json);
  for (size_t i = begin; i < out.size(); ++i) {
    if (out[i] == '\n' || out[i] == '\r') out[i] = ' ';
  }
}

class Native final : public Encoder {
 public:
  bool append(const events::EventView& event, std::string& out) override {
    fmt::format_int digits(event.seq);
    std::string_view number(digits.data(), digits.size());
    out.reserve(out.size() + 2 * number.size() + event.type.size() + event.data_json.size() +
                event.created_at.size() + 64);
    out.append("id: ").append(number);
    out.append("\ndata: {\"seq\":").append(number);
    out.append(",\"type\":\"").append(event.type);
    out.append("\",\"data\":");
    append_on_one_line(event.data_json, out);
    out.append(",\"created_at\":\"").append(event.created_at);
    out.append("\"}\n\n");
    return events::is_terminal_event(event.type);
  }
  std::shared_ptr<Encoder> copy() const override { return std::make_shared<Native>(); }
};

}  // namespace

EncoderState begin_native(const RunFacts&) { return std::make_shared<const Native>(); }

}  // namespace hostler::formats
