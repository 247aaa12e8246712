// See runner/mcp/result_text.h.
#include "runner/mcp/result_text.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/ascii.h"
#include "lib/json.h"
#include "lib/json_schema/numbers.h"
#include "lib/utf8.h"
#include "runner/mcp/raw_json.h"

namespace hostler::runner {
namespace {

constexpr size_t error_bytes_max = 8000;
constexpr size_t name_bytes_max = 500;
constexpr size_t unknown_bytes_max = 2000;

std::string_view short_of(std::string_view text) { return utf8_prefix(text, name_bytes_max); }

// A block of a kind that the protocol does not have.
std::string unknown_block(const Json& block) {
  std::string_view text = block.text_or("text");
  if (!text.empty()) return std::string(text);
  std::string json = block.dump();
  if (json.size() <= unknown_bytes_max) return json;
  return fmt::format("[{}]", short_of(block.text_or("type", "of unknown type")));
}

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
  return unknown_block(block);
}

struct Block {
  bool is_text = false;
  std::string words;
};

Block block_of(const Json& json) {
  if (json.is_text()) return {true, *json.as_text()};
  if (!json.is_object()) return {true, json.dump()};
  if (json.text_or("type") != "text") return {false, named(json)};
  const Json* text = json.find("text");
  if (text == nullptr || text->is_null()) return {true, ""};
  return {true, text->is_text() ? *text->as_text() : text->dump()};
}

// An array of blocks; servers also send one block alone, or its text.
std::vector<Block> blocks_of(const Json* content) {
  std::vector<Block> blocks;
  if (content == nullptr || content->is_null()) return blocks;
  if (content->as_array() == nullptr) {
    blocks.push_back(block_of(*content));
    return blocks;
  }
  for (const Json& block : *content->as_array()) blocks.push_back(block_of(block));
  return blocks;
}

std::string joined(const std::vector<Block>& blocks) {
  std::string text;
  for (const Block& block : blocks) {
    if (!text.empty()) text += '\n';
    text += block.words;
  }
  return text;
}

// Whether a text says the value and nothing else: as its JSON, or a string as it is.
bool says(const Block& block, const Json& value) {
  if (!block.is_text) return false;
  if (value.is_text() && block.words == *value.as_text()) return true;
  std::optional<Json> read = parse_json_or_nothing(block.words);
  return read && json_schema::canonical(*read) == json_schema::canonical(value);
}

// {"result": …}, as frameworks wrap a value that is no object; nothing: it is something else.
const Json* wrapped(const Json& structured) {
  const Json* value = structured.is_object() ? structured.find("result") : nullptr;
  return value != nullptr && structured.as_object()->size() == 1 ? value : nullptr;
}

// Whether the blocks are the items of the array, a block each.
bool say_each(const std::vector<Block>& blocks, const Json& array) {
  const Json::Array* items = array.as_array();
  if (items == nullptr || items->size() != blocks.size()) return false;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (!says(blocks[i], (*items)[i])) return false;
  }
  return true;
}

// Takes out of the blocks what only repeats the structured content.
void drop_repeated(std::vector<Block>& blocks, const Json& structured) {
  const Json* inner = wrapped(structured);
  bool is_all = say_each(blocks, structured) || (inner != nullptr && say_each(blocks, *inner));
  if (is_all) return blocks.clear();
  std::erase_if(blocks, [&](const Block& block) {
    return says(block, structured) || (inner != nullptr && says(block, *inner));
  });
}

// Rest of an object that has neither content nor structured content: its other members.
std::string bare_result(const Json& result) {
  const Json* older = result.find("toolResult");  // of revision 2024-10-07
  if (older != nullptr) return older->dump();
  Json::Object members = *result.as_object();
  std::erase_if(members, [](const Json::Member& member) {
    std::string_view name = member.first;
    return name == "_meta" || name == "isError" || name == "resultType" || name == "content" ||
           name == "structuredContent";
  });
  return members.empty() ? "" : Json(std::move(members)).dump();
}

// JSON text of the value, and its words.
struct Told {
  std::string json;
  std::string words;
};

Told told_of(const Json& result, std::optional<std::string_view> structured) {
  std::vector<Block> blocks = blocks_of(result.find("content"));
  if (!structured) {
    bool is_bare = blocks.empty() && result.find("content") == nullptr;
    std::string bare = is_bare ? bare_result(result) : "";
    if (!bare.empty()) return {bare, bare};
    std::string text = joined(blocks);
    return {json_quote(text), text};
  }
  const Json& value = *result.find("structuredContent");
  const Json* inner = wrapped(value);
  bool is_one_text = inner != nullptr && inner->is_text() && blocks.size() == 1 &&
                     blocks.front().is_text && blocks.front().words == *inner->as_text();
  if (is_one_text) return {json_quote(blocks.front().words), blocks.front().words};
  drop_repeated(blocks, value);
  std::string text = joined(blocks);
  if (ascii::trimmed(text, ascii::white_space).empty()) {
    return {std::string(*structured), std::string(*structured)};
  }
  text += fmt::format("\n\n{}", *structured);
  return {json_quote(text), text};
}

}  // namespace

ResultText read_tool_result(std::string_view result) {
  ResultText read;
  std::optional<Json> json = parse_json_or_nothing(result);
  if (!json || !json->is_object()) {
    read.text = "The server's answer is not a result of a tool.";
    return read;
  }
  std::optional<std::string_view> structured = raw_member(result, "structuredContent");
  if (structured == "null") structured.reset();
  Told reported = told_of(*json, structured);
  const Json* is_error = json->find("isError");
  if (is_error != nullptr && is_error->as_boolean() != nullptr && *is_error->as_boolean()) {
    read.kind = ResultText::Kind::error;
    bool is_blank = ascii::trimmed(reported.words, ascii::white_space).empty();
    read.text = utf8_prefix(is_blank ? "The tool failed." : reported.words, error_bytes_max);
    return read;
  }
  read.kind = ResultText::Kind::result;
  read.text = std::move(reported.json);
  if (read.text.size() > remote_result_bytes_max) {
    read.kind = ResultText::Kind::bad;
    read.text = "The server's result is over 1 MiB.";
  }
  return read;
}

}  // namespace hostler::runner
