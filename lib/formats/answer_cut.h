// Whether a model ended its last answer by itself, for encoders whose protocols have words
// of their own for it.
#pragma once

#include <cstdint>

#include "lib/json.h"

namespace hostler::formats {

enum class Cut : uint8_t { none, length, content_filter };

// data: of output.cut, which comes directly before run.completed when it did not.
inline Cut cut_of(const Json& data) {
  std::string_view reason = data.text_or("finish_reason");
  if (reason == "length") return Cut::length;
  return reason == "content_filter" ? Cut::content_filter : Cut::none;
}

}  // namespace hostler::formats
