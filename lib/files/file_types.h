// Types of files that Hostler takes. An answer names a type only by a text of this list.
#pragma once

#include <string_view>

#include "lib/files/check_protocol.h"

namespace hostler::files {

// For people.
inline constexpr std::string_view accepted_types =
    "image/png, image/jpeg, image/gif and image/webp";

// The text of the list, or an empty one for a type that is not taken.
constexpr std::string_view accepted_type(std::string_view mime_type) {
  for (std::string_view known : image_types) {
    if (known == mime_type) return known;
  }
  return {};
}

}  // namespace hostler::files
