// Wire formats for tests of what is the same in every format: one that is given once, whose frames
// depend on the events before, and one that is held back.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "lib/formats/formats.h"
#include "lib/json.h"

namespace hostler::testing_support {

// Each delta is numbered by how many there were; other events have no frame.
class CountedFormat final : public formats::Encoder {
 public:
  bool append(const events::EventView& event, std::string& out) override {
    ++appended;
    bool is_delta = event.type == "message.delta";
    if (is_delta) out += "data: " + std::to_string(++deltas_) + "\n\n";
    if (events::is_terminal_event(event.type)) out += "data: end\n\n";
    return events::is_terminal_event(event.type);
  }
  std::shared_ptr<Encoder> copy() const override { return std::make_shared<CountedFormat>(*this); }

  static inline std::atomic<int64_t> appended = 0;  // by all of them

 private:
  int64_t deltas_ = 0;
};

// The text of all deltas; 502 when the run failed.
class WholeFormat final : public formats::Encoder {
 public:
  bool append(const events::EventView& event, std::string& out) override {
    std::optional<Json> data = parse_json_or_nothing(event.data_json);
    if (event.type == "message.delta" && data) text_ += data->text_or("content");
    if (event.type == "run.failed") status_ = 502;
    if (!events::is_terminal_event(event.type)) return false;
    out += text_;
    return true;
  }
  std::shared_ptr<Encoder> copy() const override { return std::make_shared<WholeFormat>(*this); }
  int status() const override { return status_; }

 private:
  std::string text_;
  int status_ = 200;
};

// Each delta by its number; ends when the run asks, and with the run, whose client's facts come
// then.
class AskingFormat final : public formats::Encoder {
 public:
  explicit AskingFormat(std::string_view facts) : facts_(facts) {}
  bool append(const events::EventView& event, std::string& out) override {
    bool asks = event.type == "run.waiting_for_input";
    bool is_last = events::is_terminal_event(event.type);
    std::string what = asks ? "asked" : is_last ? "end " + facts_ : std::to_string(event.seq);
    out += "data: " + what + "\n\n";
    return asks || is_last;
  }
  std::shared_ptr<Encoder> copy() const override { return std::make_shared<AskingFormat>(*this); }

 private:
  std::string facts_;
};

inline formats::EncoderState begin_asking(const formats::RunFacts& run) {
  return std::make_shared<const AskingFormat>(run.client_facts);
}

template <typename Encoder>
formats::EncoderState begin_format(const formats::RunFacts&) {
  return std::make_shared<const Encoder>();
}

inline std::string test_error_body(const Error& error) {
  return "{\"oh\":\"" + std::string(error_row(error.code).name) + "\"}";
}
inline std::string test_error_frames(const Error& error) {
  return "data: " + test_error_body(error) + "\n\n";
}

inline const std::array<formats::Format, 6> test_formats = {{
    formats::native_format(),
    {"counted", "text/event-stream", formats::Delivery::once, false, begin_format<CountedFormat>,
     test_error_body, test_error_frames},
    {"whole", "application/json", formats::Delivery::held, false, begin_format<WholeFormat>,
     test_error_body, nullptr},
    {"counted_late", "text/event-stream", formats::Delivery::once, false,
     begin_format<CountedFormat>, test_error_body, test_error_frames,
     formats::Start::starting_after},
    {"asking", "text/event-stream", formats::Delivery::once, false, begin_asking, test_error_body,
     test_error_frames, formats::Start::first_event, "x-test-format", "asking"},
    {"answered", "text/event-stream", formats::Delivery::once, false, begin_asking, test_error_body,
     test_error_frames, formats::Start::last_input},
}};

}  // namespace hostler::testing_support
