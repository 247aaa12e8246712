// See fcgi/api/runs/message_content.h.
#include "fcgi/api/runs/message_content.h"

#include <string_view>
#include <vector>

#include "lib/blank_text.h"
#include "lib/json.h"

namespace hostler {
namespace {

constexpr size_t text_bytes_max = 64 << 10;
constexpr size_t parts_max = 20;
constexpr TextBounds content_bounds{.min = 1, .bytes_max = text_bytes_max, .takes_control = true};
constexpr TextBounds part_bounds{.bytes_max = text_bytes_max, .takes_control = true};

struct ReadParts {
  std::string text;
  size_t texts = 0;
  bool has_image = false;
  JsonWriter json;
};

void read_text_part(Fields& part, ReadParts& read) {
  std::string text = part.required_text("text", part_bounds);
  if (read.texts++ > 0) read.text += '\n';
  read.text += text;
  read.json.member("type", "text").member("text", text);
}

void read_image_part(Fields& part, ReadParts& read) {
  read.has_image = true;
  read.json.member("type", "image").member("file_id", part.required_id("file_id"));
  std::optional<std::string> detail = part.optional_choice("detail", {"auto", "low", "high"});
  if (detail) read.json.member("detail", *detail);
}

void read_part(Fields& part, ReadParts& read) {
  std::string type = part.required_choice("type", {"text", "image", "file"});
  read.json.begin_object();
  if (type == "text") read_text_part(part, read);
  if (type == "image") read_image_part(part, read);
  if (type == "file") {
    part.fault("type", "unsupported",
               "file is not supported, because models get images only; name an image with a part "
               "of the type image");
  }
  read.json.end_object();
}

}  // namespace

std::string read_message_content(Fields& fields) {
  std::string content = fields.required_text("content", content_bounds);
  if (!content.empty() && is_blank_text(content)) {
    fields.fault("content", "required", "must contain more than white space");
  }
  return content;
}

MessageContent read_message_parts(Fields& fields) {
  const Json* written = fields.any("content");
  if (written == nullptr || !written->is_array()) return {read_message_content(fields), {}};
  ReadParts read;
  read.json.begin_array();
  std::vector<Fields> parts = fields.optional_objects("content", parts_max);
  for (Fields& part : parts) read_part(part, read);
  read.json.end_array();
  if (written->as_array()->empty()) {
    fields.fault("content", "too_short", "must have 1 to 20 parts");
  } else if (read.text.size() > text_bytes_max) {
    fields.fault("content", "too_long", "must have at most 65536 bytes of text");
  } else if (!read.has_image && is_blank_text(read.text)) {
    fields.fault("content", "required", "must contain more than white space");
  }
  return {std::move(read.text), read.json.take()};
}

}  // namespace hostler
