// See files/image.h.
#include "files/image.h"

#include <vips/vips.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "lib/files/check_protocol.h"

namespace hostler::files {
namespace {

struct Unref {
  void operator()(VipsImage* image) const { g_object_unref(image); }
};
using Image = std::unique_ptr<VipsImage, Unref>;

// The loader of each type. All others stay blocked.
const char* loader_of(std::string_view mime_type) {
  if (mime_type == "image/png") return "VipsForeignLoadPng";
  if (mime_type == "image/jpeg") return "VipsForeignLoadJpeg";
  if (mime_type == "image/gif") return "VipsForeignLoadNsgif";
  return "VipsForeignLoadWebp";
}

std::string vips_fault() {
  std::string words = vips_error_buffer();
  vips_error_clear();
  while (!words.empty() && words.back() == '\n') words.pop_back();
  return words.empty() ? "the decoder refused it" : words;
}

DerivedImage refused(std::string fault) {
  DerivedImage image;
  image.fault = std::move(fault);
  return image;
}

uint32_t big_endian(std::string_view bytes) {
  uint32_t number = 0;
  for (char c : bytes.substr(0, 4)) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}

// libvips fills up a PNG that ends early, so its chunks are walked to the last one.
bool ends_early(std::string_view png) {
  constexpr size_t signature_bytes = 8;
  constexpr size_t frame_bytes = 12;  // length, name and checksum of a chunk
  for (size_t at = signature_bytes; at + frame_bytes <= png.size();) {
    size_t end = at + frame_bytes + big_endian(png.substr(at));
    if (end > png.size()) return true;
    if (png.substr(at + 4, 4) == "IEND") return false;
    at = end;
  }
  return true;
}

// Width, height and orientation, of which the decoder reads the header alone.
bool read_size(std::string_view bytes, DerivedImage& derived) {
  Image header(vips_image_new_from_buffer(bytes.data(), bytes.size(), "", nullptr));
  if (!header) {
    derived.fault = vips_fault();
    return false;
  }
  derived.width = vips_image_get_width(header.get());
  derived.height = vips_image_get_height(header.get());
  if (derived.width * derived.height > pixels_max) {
    derived.fault = "it has more than 50 megapixels";
    return false;
  }
  if (vips_image_get_orientation_swap(header.get()) != 0) {
    std::swap(derived.width, derived.height);
  }
  return true;
}

// Turned upright and scaled down to the box, in sRGB with 8 bits. A file that ends early is refused
// instead of filled up with grey.
Image scaled(std::string_view bytes, std::string& fault) {
  VipsImage* out = nullptr;
  int failed = vips_thumbnail_buffer(const_cast<char*>(bytes.data()), bytes.size(), &out,
                                     derived_side_max, "height", derived_side_max, "size",
                                     VIPS_SIZE_DOWN, "fail_on", VIPS_FAIL_ON_TRUNCATED, nullptr);
  if (failed != 0) {
    fault = vips_fault();
    return nullptr;
  }
  Image small(out);
  VipsImage* colours = nullptr;
  if (vips_colourspace(small.get(), &colours, VIPS_INTERPRETATION_sRGB, nullptr) != 0) {
    fault = vips_fault();
    return nullptr;
  }
  // In memory, so that each try to write it does not decode the upload again.
  Image srgb(colours);
  Image pixels(vips_image_copy_memory(srgb.get()));
  if (!pixels) fault = vips_fault();
  return pixels;
}

std::string taken(void* bytes, size_t size) {
  std::string text(static_cast<const char*>(bytes), size);
  g_free(bytes);
  return text;
}

// Empty: it could not be written.
std::string as_png(VipsImage* image) {
  void* bytes = nullptr;
  size_t size = 0;
  int failed = vips_pngsave_buffer(image, &bytes, &size, "strip", TRUE, "compression", 6, nullptr);
  return failed == 0 ? taken(bytes, size) : std::string();
}

std::string as_jpeg(VipsImage* image, int quality) {
  // JPEG has no transparency: what shines through is white paper.
  std::unique_ptr<VipsArrayDouble, void (*)(VipsArrayDouble*)> white(
      vips_array_double_newv(1, 255.0),
      [](VipsArrayDouble* array) { vips_area_unref(VIPS_AREA(array)); });
  void* bytes = nullptr;
  size_t size = 0;
  int failed = vips_jpegsave_buffer(image, &bytes, &size, "strip", TRUE, "Q", quality, "background",
                                    white.get(), nullptr);
  return failed == 0 ? taken(bytes, size) : std::string();
}

bool fits(const std::string& bytes) {
  return !bytes.empty() && static_cast<int64_t>(bytes.size()) <= derived_bytes_max;
}

// Drawings stay without loss where that fits; photographs become JPEG.
void write(VipsImage* image, std::string_view upload_type, DerivedImage& derived) {
  bool is_drawing = upload_type == "image/png" || upload_type == "image/gif";
  if (is_drawing || vips_image_hasalpha(image) != 0) {
    derived.bytes = as_png(image);
    derived.mime_type = "image/png";
  }
  for (int quality : {88, 75, 50}) {
    if (fits(derived.bytes)) return;
    derived.bytes = as_jpeg(image, quality);
    derived.mime_type = "image/jpeg";
  }
  if (!fits(derived.bytes)) derived.fault = "it cannot be written again: " + vips_fault();
}

}  // namespace

void start_images(const char* program) {
  // No temporary files, and no code that is made at run time: the sandbox has neither.
  setenv("VIPS_DISC_THRESHOLD", "2g", 1);
  setenv("VIPS_NOVECTOR", "1", 1);
  if (vips_init(program) != 0) throw std::runtime_error("libvips: " + vips_fault());
  vips_concurrency_set(1);
  vips_cache_set_max(0);
  vips_operation_block_set("VipsForeignLoad", TRUE);
}

DerivedImage derive_image(std::string_view bytes, std::string_view mime_type) {
  vips_operation_block_set(loader_of(mime_type), FALSE);
  DerivedImage derived;
  if (mime_type == "image/png" && ends_early(bytes)) return refused("it ends early");
  if (!read_size(bytes, derived)) return derived;
  std::string fault;
  Image image = scaled(bytes, fault);
  if (!image) return refused(std::move(fault));
  write(image.get(), mime_type, derived);
  return derived;
}

}  // namespace hostler::files
