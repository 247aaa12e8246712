// The wire formats in which a run may be followed: a row each, and an encoder in a file of its own.
#pragma once

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

struct Format {
  std::string_view name;  // in nginx's internal address: lower case and underscores
  std::string_view content_type;
  Delivery delivery;
  bool tells_usage;  // its last event needs EventView::usage_json
  // The state before the run's first event.
  EncoderState (*begin)(std::string_view run_id);
  // The body of an answer that is refused, or held back and never made. Null: a problem document.
  std::string (*error_body)(const Error& error);
  // The last frames of a stream that is given once and ends before its run.
  std::string (*error_frames)(const Error& error);
};

std::span<const Format> all_formats();

// The event stream (contract section 4).
const Format& native_format();

}  // namespace hostler::formats
