// See runner/models/parts.h.
#include "runner/models/parts.h"

#include <algorithm>
#include <optional>

#include "lib/blank_text.h"
#include "lib/crypto.h"
#include "lib/files/check_protocol.h"

namespace hostler {
namespace {

std::string_view place_name(OpaquePart::Place place) {
  switch (place) {
    case OpaquePart::Place::message:
      return "message";
    case OpaquePart::Place::call:
      return "call";
    case OpaquePart::Place::block:
      return "block";
  }
  return "message";
}

std::optional<OpaquePart::Place> place_named(std::string_view name) {
  for (auto place :
       {OpaquePart::Place::message, OpaquePart::Place::call, OpaquePart::Place::block}) {
    if (place_name(place) == name) return place;
  }
  return std::nullopt;
}

ImagePart image_from(const Json& item) {
  ImagePart image;
  image.file_id = item.text_or("file_id");
  image.name = item.text_or("name");
  image.detail = item.text_or("detail");
  image.width = item.integer_or("width", 0);
  image.height = item.integer_or("height", 0);
  const Json* is_deleted = item.find("is_deleted");
  image.is_deleted =
      is_deleted != nullptr && is_deleted->as_boolean() != nullptr && *is_deleted->as_boolean();
  return image;
}

std::optional<Part> part_from(const Json& item) {
  std::string_view type = item.text_or("type");
  if (type == "text") return TextPart{std::string(item.text_or("text"))};
  if (type == "image") return image_from(item);
  if (type == "call") {
    return ToolCall{std::string(item.text_or("id")), std::string(item.text_or("name")),
                    std::string(item.text_or("arguments"))};
  }
  std::optional<OpaquePart::Place> place = place_named(item.text_or("place"));
  if (type != "opaque" || !place) return std::nullopt;
  return OpaquePart{*place, std::string(item.text_or("data")), std::string(item.text_or("origin"))};
}

}  // namespace

std::string text_of(const Parts& parts) {
  std::string text;
  bool is_behind_call = false;
  for (const Part& part : parts) {
    if (std::holds_alternative<ToolCall>(part)) is_behind_call = true;
    const TextPart* text_part = std::get_if<TextPart>(&part);
    if (text_part == nullptr || text_part->text.empty()) continue;
    if (is_behind_call && !text.empty()) text += turn_separator;
    is_behind_call = false;
    text += text_part->text;
  }
  return text;
}

std::vector<ToolCall> calls_of(const Parts& parts) {
  std::vector<ToolCall> calls;
  for (const Part& part : parts) {
    if (const ToolCall* call = std::get_if<ToolCall>(&part)) calls.push_back(*call);
  }
  return calls;
}

bool has_calls(const Parts& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [](const Part& part) { return std::holds_alternative<ToolCall>(part); });
}

bool has_opaque(const Parts& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [](const Part& part) { return std::holds_alternative<OpaquePart>(part); });
}

bool has_images(const Parts& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [](const Part& part) { return std::holds_alternative<ImagePart>(part); });
}

int64_t image_tokens(const ImagePart& image) {
  constexpr int64_t least = 85;
  constexpr double pixels_of_token = 750;
  // Models get a smaller copy of a larger image.
  constexpr double side_max = files::derived_side_max;
  auto width = static_cast<double>(image.width);
  auto height = static_cast<double>(image.height);
  double scale = std::min(1.0, side_max / std::max({width, height, 1.0}));
  double tokens = width * scale * height * scale / pixels_of_token;
  return std::max(least, static_cast<int64_t>(tokens));
}

void add_line(Parts& parts, std::string_view text) {
  TextPart* last = parts.empty() ? nullptr : std::get_if<TextPart>(&parts.back());
  if (last == nullptr) {
    parts.emplace_back(TextPart{std::string(text)});
  } else {
    last->text += '\n';
    last->text += text;
  }
}

size_t bytes_of(const Parts& parts) {
  size_t bytes = 0;
  for (const Part& part : parts) {
    if (const TextPart* text_part = std::get_if<TextPart>(&part)) {
      bytes += text_part->text.size();
    } else if (const ToolCall* call = std::get_if<ToolCall>(&part)) {
      bytes += call->id.size() + call->name.size() + call->arguments.size();
    } else if (const ImagePart* image = std::get_if<ImagePart>(&part)) {
      bytes += static_cast<size_t>(image_tokens(*image)) * 4;
    } else {
      bytes += std::get<OpaquePart>(part).data.size();
    }
  }
  return bytes;
}

size_t opaque_bytes_of(const Parts& parts) {
  size_t bytes = 0;
  for (const Part& part : parts) {
    if (const OpaquePart* opaque = std::get_if<OpaquePart>(&part)) bytes += opaque->data.size();
  }
  return bytes;
}

Parts parts_of(std::string text, std::vector<ToolCall> calls) {
  Parts parts;
  parts.reserve(calls.size() + 1);
  if (!text.empty()) parts.emplace_back(TextPart{std::move(text)});
  for (ToolCall& call : calls) parts.emplace_back(std::move(call));
  return parts;
}

void keep_opaque_of(Parts& parts, std::string_view origin) {
  std::erase_if(parts, [origin](const Part& part) {
    const OpaquePart* opaque = std::get_if<OpaquePart>(&part);
    return opaque != nullptr && !opaque->origin.empty() && opaque->origin != origin;
  });
}

void name_origin(Parts& parts, std::string_view origin) {
  for (Part& part : parts) {
    OpaquePart* opaque = std::get_if<OpaquePart>(&part);
    if (opaque != nullptr && opaque->origin.empty()) opaque->origin = origin;
  }
}

std::string origin_of(std::string_view base_url, std::string_view model) {
  constexpr size_t digits = 16;
  while (base_url.ends_with('/')) base_url.remove_suffix(1);
  std::string named(base_url);
  named += '\n';
  named += model;
  return to_hex(sha256(named)).substr(0, digits);
}

std::string parts_json(const Parts& parts) {
  JsonWriter json;
  json.begin_array();
  for (const Part& part : parts) {
    json.begin_object();
    if (const TextPart* text_part = std::get_if<TextPart>(&part)) {
      json.member("type", "text").member("text", text_part->text);
    } else if (const ToolCall* call = std::get_if<ToolCall>(&part)) {
      json.member("type", "call").member("id", call->id).member("name", call->name);
      json.member("arguments", call->arguments);
    } else if (const ImagePart* image = std::get_if<ImagePart>(&part)) {
      json.member("type", "image").member("file_id", image->file_id).member("name", image->name);
      json.member("width", image->width).member("height", image->height);
      json.member("detail", image->detail).member("is_deleted", image->is_deleted);
    } else {
      const OpaquePart& opaque = std::get<OpaquePart>(part);
      json.member("type", "opaque").member("place", place_name(opaque.place));
      json.member("origin", opaque.origin).member("data", opaque.data);
    }
    json.end_object();
  }
  return json.end_array().take();
}

Parts parts_from(std::string_view json) {
  std::optional<Json> stored = parse_json_or_nothing(json);
  return stored ? parts_read(*stored) : Parts();
}

Parts parts_read(const Json& stored) {
  Parts parts;
  if (!stored.is_array()) return parts;
  for (const Json& item : *stored.as_array()) {
    if (std::optional<Part> part = part_from(item)) parts.push_back(*std::move(part));
  }
  return parts;
}

std::string arguments_object(std::string_view arguments) {
  if (is_blank_text(arguments)) return "{}";
  std::optional<Json> parsed = parse_json_or_nothing(arguments);
  if (parsed && parsed->is_object()) return std::string(arguments);
  if (parsed && parsed->is_null()) return "{}";
  JsonWriter json;
  json.begin_object().member("not_an_object", arguments).end_object();
  return json.take();
}

void append_turn_text(std::string& all, std::string_view text) {
  if (!all.empty() && !text.empty()) all += turn_separator;
  all += text;
}

}  // namespace hostler
