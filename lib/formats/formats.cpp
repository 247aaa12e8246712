// See lib/formats/formats.h.
#include "lib/formats/formats.h"

#include <array>

#include "lib/formats/native.h"

namespace hostler::formats {
namespace {

constexpr std::array<Format, 1> formats{{
    {"native", begin_native},
}};

}  // namespace

const Format& native_format() { return formats.front(); }

}  // namespace hostler::formats
