// See files/file_type.h.
#include "files/file_type.h"

#include <magic.h>

#include <stdexcept>

#include "lib/files/check_protocol.h"
#include "lib/utf8.h"

namespace hostler::files {
namespace {

constexpr std::string_view unknown_type = "application/octet-stream";
// Looked at for the beginning of a document of XML or HTML.
constexpr size_t head_bytes = 64 << 10;

// Types by their first bytes, so that no rule of libmagic decides what a decoder gets to read.
std::string_view image_type_of(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n"sv)) return "image/png";
  if (bytes.starts_with("\xff\xd8\xff"sv)) return "image/jpeg";
  if (bytes.starts_with("GIF87a"sv) || bytes.starts_with("GIF89a"sv)) return "image/gif";
  if (bytes.starts_with("RIFF"sv) && bytes.substr(0, 12).ends_with("WEBP"sv)) return "image/webp";
  return {};
}

bool is_text(std::string_view bytes) {
  return bytes.find('\0') == std::string_view::npos && is_utf8(bytes);
}

// SVG, also where comments and declarations stand before its name. A text that only mentions the
// element begins with other words.
bool is_svg(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  size_t first = head.find_first_not_of(" \t\r\n\f");
  bool is_markup = first != std::string_view::npos && head[first] == '<';
  return is_markup && head.find("<svg") != std::string_view::npos;
}

}  // namespace

FileTypes::FileTypes()
    : cookie_(magic_open(MAGIC_MIME_TYPE | MAGIC_NO_CHECK_COMPRESS), magic_close) {
  if (!cookie_ || magic_load(cookie_.get(), nullptr) != 0) {
    throw std::runtime_error("libmagic cannot load its table");
  }
}

std::string FileTypes::type_of(std::string_view bytes) const {
  std::string_view image = image_type_of(bytes);
  if (!image.empty()) return std::string(image);
  const char* name = magic_buffer(cookie_.get(), bytes.data(), bytes.size());
  std::string_view found = name == nullptr ? unknown_type : std::string_view(name);
  if (is_text(bytes)) {
    bool is_picture = found == "image/svg+xml" || is_svg(bytes.substr(0, head_bytes));
    if (is_picture) return "image/svg+xml";
    if (found == "text/html" || found == "application/json") return std::string(found);
    return "text/plain";
  }
  // Bytes that do not begin like one of our images are not one, whatever libmagic makes of them.
  return std::string(is_image_type(found) || found.empty() ? unknown_type : found);
}

}  // namespace hostler::files
