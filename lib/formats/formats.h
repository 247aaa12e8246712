// The wire formats in which a run may be followed: a row each, and an encoder in a file of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "lib/error.h"
#include "lib/formats/encoder.h"

namespace hostler::formats {

enum class Delivery : uint8_t {
  resumable,  // a stream whose client comes back by itself and says how far it was
  once,       // a stream from the run's first event on; who loses it has lost it
  held,       // one body at the end, and until then not even a head
};

// Where a stream begins. The encoder always runs from the first event on; what it makes up to
// there is left out.
enum class Start : uint8_t {
  first_event,
  // Behind the frame with the number that the request's query says: see begin_behind().
  starting_after,
  // Behind the newest run.input_provided that is stored when the stream is opened, or behind the
  // newest result if the run waits for others too: its client answers a wait by a request whose
  // answer is how the run goes on.
  last_input,
  // Behind what was stored when a client of the protocol answered last (runs.client_answer), with
  // what it said then before what the run's client did.
  last_answer,
  // With what counts of all that is stored when the stream is opened, in a form of the encoder's
  // own: it is begun with RunFacts::stored_seq.
  stored,
};

struct Format {
  std::string_view name;  // in nginx's internal address: lower case and underscores
  std::string_view content_type;
  Delivery delivery;
  bool tells_usage;  // its last event needs EventView::usage_json
  // The state before the run's first event.
  EncoderState (*begin)(const RunFacts& run);
  // The body of an answer that is refused, or held back and never made. Null: a problem document.
  std::string (*error_body)(const Error& error);
  // The last frames of a stream that is given once and ends before its run.
  std::string (*error_frames)(const Error& error);
  Start start = Start::first_event;
  // A further field of the head, by name and value; empty: none.
  std::string_view field_name = {};
  std::string_view field_value = {};
};

std::span<const Format> all_formats();

// The number of an event's nth frame, from 0 on.
constexpr int64_t frames_of_event = 16;
constexpr int64_t frame_number(int64_t seq, int64_t nth) { return frames_of_event * seq + nth; }

// Numbers the frames of a stream, which ascend whatever an event has: behind one of more than
// frames_of_event frames those of the next events go on where it ended.
class FrameNumbers {
 public:
  // Number of the next frame, which belongs to this event.
  int64_t peek(int64_t seq) const { return std::max(frame_number(seq, 0), last_ + 1); }
  int64_t next(int64_t seq) { return last_ = peek(seq); }

 private:
  int64_t last_ = 0;
};

// The state before the run's first event, of a stream that begins behind the frame with the number;
// 0: with the first. Ends of the stream that are left out with their frames do not end it, but for
// that of the run. Of a format that starts with what is stored: `frame` is one of the last event's.
EncoderState begin_behind(const Format& format, const RunFacts& run, int64_t frame);

// The event stream (contract section 4).
const Format& native_format();

}  // namespace hostler::formats
