// The wire formats in which a run may be followed: a row each, and an encoder in a file of its own.
#pragma once

#include <string_view>

#include "lib/formats/encoder.h"

namespace hostler::formats {

struct Format {
  std::string_view name;
  // The state before the run's first event.
  EncoderState (*begin)(std::string_view run_id);
};

// The event stream (contract section 4).
const Format& native_format();

}  // namespace hostler::formats
