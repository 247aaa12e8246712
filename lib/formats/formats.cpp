// See lib/formats/formats.h.
#include "lib/formats/formats.h"

#include <array>

#include "lib/formats/native.h"

namespace hostler::formats {
namespace {

// clang-format off
constexpr std::array<Format, 1> formats{{
    {"native", "text/event-stream", Delivery::resumable, begin_native, nullptr, nullptr},
}};
// clang-format on

}  // namespace

std::span<const Format> all_formats() { return formats; }

const Format& native_format() { return formats.front(); }

}  // namespace hostler::formats
