// See runner/mcp/result_text.h.
#include "runner/mcp/result_text.h"

#include <optional>

#include <fmt/format.h>

#include "lib/json.h"
#include "lib/utf8.h"
#include "runner/mcp/raw_json.h"

namespace hostler::runner {
namespace {

constexpr size_t error_bytes_max = 8000;
constexpr size_t name_bytes_max = 500;

std::string_view short_of(std::string_view text) { return utf8_prefix(text, name_bytes_max); }

// A block that is no text, in words.
std::string named(const Json& block) {
  std::string_view type = block.text_or("type");
  if (type == "image" || type == "audio") {
    return fmt::format("[{}: {}, {} characters of base64]", type,
                       short_of(block.text_or("mimeType", "of unknown type")),
                       block.text_or("data").size());
  }
  if (type == "resource_link") {
    return fmt::format("[resource: {} {}]", short_of(block.text_or("uri")),
                       short_of(block.text_or("name")));
  }
  if (type == "resource") {
    const Json* resource = block.find("resource");
    if (resource == nullptr || !resource->is_object()) return "[resource]";
    std::string_view text = resource->text_or("text");
    return fmt::format("[resource: {}]{}{}", short_of(resource->text_or("uri")),
                       text.empty() ? "" : "\n", text);
  }
  return fmt::format("[{}]", short_of(type));
}

std::string joined_text(const Json& content) {
  std::string text;
  for (const Json& block : *content.as_array()) {
    if (!block.is_object()) continue;
    if (!text.empty()) text += '\n';
    text += block.text_or("type") == "text" ? std::string(block.text_or("text")) : named(block);
  }
  return text;
}

}  // namespace

ResultText read_tool_result(std::string_view result) {
  ResultText read;
  std::optional<Json> json = parse_json_or_nothing(result);
  bool is_object = json && json->is_object();
  const Json* content = is_object ? json->find("content") : nullptr;
  std::optional<std::string_view> structured;
  if (is_object) structured = raw_member(result, "structuredContent");
  if (structured == "null") structured.reset();
  bool has_content = content != nullptr && content->is_array();
  if (!has_content && !structured) {
    read.text = "What the server answered is no result of a tool.";
    return read;
  }
  std::string text = has_content ? joined_text(*content) : std::string();
  const Json* is_error = json->find("isError");
  if (is_error != nullptr && is_error->as_boolean() != nullptr && *is_error->as_boolean()) {
    read.kind = ResultText::Kind::error;
    // What failed may be told in the structured part alone.
    if (text.empty()) text = structured.value_or("The tool failed.");
    read.text = utf8_prefix(text, error_bytes_max);
    return read;
  }
  read.kind = ResultText::Kind::result;
  read.text = structured ? std::string(*structured) : json_quote(text);
  if (read.text.size() > remote_result_bytes_max) {
    read.kind = ResultText::Kind::bad;
    read.text = "The server's result is over 1 MiB.";
  }
  return read;
}

}  // namespace hostler::runner
