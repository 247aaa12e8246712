// Decodes an image and writes it again: upright, scaled down, with nothing but its pixels. So EXIF,
// GPS and whatever else stood in the upload stay behind. Runs inside the sandbox.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hostler::files {

// Starts libvips, before the process enters its sandbox. Throws std::runtime_error.
void start_images(const char* program);

struct DerivedImage {
  std::string mime_type;  // image/png or image/jpeg
  std::string bytes;
  int64_t width = 0;  // of the upload, turned upright
  int64_t height = 0;
  std::string fault;  // not empty: why it cannot be read; the rest says nothing then
};

// mime_type: one that is_image_type; only its decoder is tried. The first frame of an animation.
DerivedImage derive_image(std::string_view bytes, std::string_view mime_type);

}  // namespace hostler::files
