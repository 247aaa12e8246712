// See fcgi/api/files/given_parts.h.
#include "fcgi/api/files/given_parts.h"

#include <utility>

#include <fmt/format.h>

#include "fcgi/api/files/upload.h"
#include "lib/ascii.h"
#include "lib/crypto.h"
#include "lib/files/file_types.h"
#include "lib/ids.h"
#include "lib/search_words.h"
#include "lib/utf8.h"

namespace hostler {
namespace {

constexpr std::string_view data_scheme = "data:";
constexpr std::string_view openai_prefix = "file-";
constexpr size_t name_bytes_max = 255;

// A content URL of this installation or of any other: the file is looked up, never fetched.
std::optional<std::string> id_in_url(std::string_view url) {
  constexpr std::string_view folder = "/v1/files/";
  constexpr std::string_view file = "/content";
  url = url.substr(0, url.find_first_of("?#"));
  if (!url.ends_with(file)) return std::nullopt;
  url.remove_suffix(file.size());
  size_t at = url.rfind(folder);
  if (at == std::string_view::npos) return std::nullopt;
  std::string id(url.substr(at + folder.size()));
  if (id.starts_with(openai_prefix)) id.erase(0, openai_prefix.size());
  return is_uuid(id) ? std::optional(id) : std::nullopt;
}

std::optional<std::string> id_of(std::string_view source) {
  if (std::optional<std::string> id = id_in_url(source)) return id;
  if (source.starts_with(openai_prefix)) source.remove_prefix(openai_prefix.size());
  std::string id(source);
  return is_uuid(id) ? std::optional(id) : std::nullopt;
}

bool is_url(std::string_view source) { return source.find(':') != std::string_view::npos; }

// By the first bytes; empty: no image that Hostler takes. The check that follows decodes it as that
// type in the sandbox.
std::string_view image_type_of(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n"sv)) return "image/png";
  if (bytes.starts_with("\xff\xd8\xff"sv)) return "image/jpeg";
  if (bytes.starts_with("GIF87a"sv) || bytes.starts_with("GIF89a"sv)) return "image/gif";
  if (bytes.starts_with("RIFF"sv) && bytes.substr(0, 12).ends_with("WEBP"sv)) return "image/webp";
  return {};
}

// The bytes of a data: URL; nothing when it is none with base64.
std::optional<std::string> bytes_of_url(std::string_view url) {
  constexpr std::string_view base64 = ";base64";
  url.remove_prefix(data_scheme.size());
  size_t comma = url.find(',');
  if (comma == std::string_view::npos || !url.substr(0, comma).ends_with(base64)) {
    return std::nullopt;
  }
  return from_base64(url.substr(comma + 1));
}

std::string name_of(std::string_view given, std::string_view type) {
  std::string name = file_name_of(given);
  name.resize(utf8_prefix(name, name_bytes_max).size());
  if (!name.empty()) return name;
  return fmt::format("image.{}", type.substr(type.find('/') + 1));
}

}  // namespace

UploadLimits upload_limits(const config::Settings& settings) {
  return {.file_bytes = settings.integer("limit.file_bytes"),
          .stored_bytes = settings.integer("limit.stored_bytes"),
          .upload_bytes_per_day = settings.integer("limit.upload_bytes_per_day")};
}

GivenParts::GivenParts(const UploadLimits& limits) : limits_(limits) { json_.begin_array(); }

void GivenParts::add_text(std::string_view text) {
  ++count_;
  json_.begin_object().member("type", "text").member("text", text).end_object();
}

void GivenParts::add_image(Fields& fields, const std::string& field, const GivenImage& image) {
  ++count_;
  ++images_;
  json_.begin_object().member("type", "image").member("field", fields.field_name(field));
  if (image.detail != nullptr && image.detail->is_text()) {
    const std::string& detail = *image.detail->as_text();
    if (detail == "auto" || detail == "low" || detail == "high") json_.member("detail", detail);
  }
  if (image.source.starts_with(data_scheme)) {
    write_upload(fields, field, image);
  } else if (std::optional<std::string> id = id_of(image.source)) {
    json_.member("file_id", *id);
  } else if (is_url(image.source)) {
    fields.fault(
        field, "unsupported",
        "must be a data: URL with base64, or name a file of POST /v1/files; other addresses "
        "are not fetched");
  } else {
    fields.fault(field, "unknown", "names a file that does not exist, or is not yours");
  }
  json_.end_object();
}

void GivenParts::write_upload(Fields& fields, const std::string& field, const GivenImage& image) {
  std::optional<std::string> bytes = bytes_of_url(image.source);
  if (!bytes || bytes->empty()) {
    fields.fault(field, "bad_format", "must be a data: URL with base64, and not be empty");
    return;
  }
  std::string_view type = image_type_of(*bytes);
  if (type.empty()) {
    fields.fault(field, "unsupported",
                 fmt::format("must be an image; accepted are {}", files::accepted_types));
    return;
  }
  std::string name = name_of(image.name, type);
  json_.key("upload").begin_object().member("name", name).member("words", search_words(name));
  json_.member("mime_type", type).member("bytes", static_cast<int64_t>(bytes->size()));
  json_.member("sha256", to_hex(sha256(*bytes))).member("data", to_base64(*bytes));
  json_.member("limit_file_bytes", limits_.file_bytes);
  json_.member("limit_stored_bytes", limits_.stored_bytes);
  json_.member("limit_upload_bytes_per_day", limits_.upload_bytes_per_day).end_object();
}

std::optional<std::string> GivenParts::take() {
  std::string json = json_.end_array().take();
  if (images_ == 0) return std::nullopt;
  return json;
}

}  // namespace hostler
