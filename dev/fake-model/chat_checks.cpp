// The common checks of chat_checks.h. Messages name the member as real providers do.
#include "dev/fake-model/chat_checks.h"

#include <algorithm>
#include <array>

#include "lib/answer_repair.h"
#include "lib/ascii.h"
#include "lib/crypto.h"

namespace hostler::fake_model {

Refusal refused(std::string message) {
  Refusal refusal;
  refusal.message = std::move(message);
  return refusal;
}

std::optional<Refusal> check_settings(const Json& body, double temperature_max) {
  const Json* model = body.find("model");
  if (model == nullptr || !model->is_text() || model->as_text()->empty()) {
    return refused("you must provide a model parameter");
  }
  const Json* stream = body.find("stream");
  if (stream != nullptr && !stream->is_null() && stream->as_boolean() == nullptr) {
    return refused("stream: must be a boolean");
  }
  const Json* temperature = body.find("temperature");
  if (temperature != nullptr && !temperature->is_null()) {
    std::optional<double> value = temperature->as_number();
    if (!value || *value < 0 || *value > temperature_max) {
      return refused("temperature: must be a number from 0 to " +
                     std::to_string(static_cast<int>(temperature_max)));
    }
  }
  return std::nullopt;
}

bool is_tool_name(std::string_view name) {
  if (name.empty() || name.size() > 64) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return ascii::is_letter_or_digit(c) || c == '_' || c == '-'; });
}

std::optional<Refusal> check_tool_schema(const Json* schema, const std::string& where) {
  if (schema == nullptr || !schema->is_object()) {
    return refused(where + ": must be a JSON schema of type \"object\"");
  }
  if (schema->text_or("type") != "object") {
    return refused(where + ": schema must be a JSON schema of 'type: \"object\"', got 'type: \"" +
                   std::string(schema->text_or("type", "None")) + "\"'");
  }
  const Json* properties = schema->find("properties");
  if (properties != nullptr && !properties->is_object()) {
    return refused(where + ".properties: must be an object");
  }
  const Json* required = schema->find("required");
  if (required != nullptr && !required->is_array()) {
    return refused(where + ".required: must be an array of names");
  }
  return std::nullopt;
}

std::optional<Refusal> check_answer_schema(const Json* schema, const std::string& where) {
  if (schema == nullptr || !schema->is_object()) return refused(where + ": must be a JSON schema");
  return std::nullopt;
}

bool asks_for_repair(std::string_view text) { return text.starts_with(answer_repair_opening); }

namespace {

// Type, bytes and SHA-256 of an image that came as base64; what it is instead otherwise.
std::string image_words(std::string_view type, std::string_view base64) {
  std::optional<std::string> bytes = from_base64(base64);
  if (!bytes || bytes->empty()) return "an image that is no base64";
  return std::string(type) + " of " + std::to_string(bytes->size()) + " bytes, SHA-256 " +
         to_hex(sha256(*bytes));
}

// A part of either form; empty: it is no image.
std::string seen_in(const Json& block) {
  constexpr std::string_view scheme = "data:";
  constexpr std::string_view mark = ";base64,";
  if (block.text_or("type") == "image") {
    const Json* source = block.find("source");
    return source == nullptr ? "an image without a source"
                             : image_words(source->text_or("media_type"), source->text_or("data"));
  }
  const Json* image = block.find("image_url");
  if (block.text_or("type") != "image_url" || image == nullptr) return {};
  std::string_view url = image->text_or("url");
  size_t at = url.find(mark);
  if (!url.starts_with(scheme) || at == std::string_view::npos) return "an image at an address";
  return image_words(url.substr(scheme.size(), at - scheme.size()), url.substr(at + mark.size()));
}

}  // namespace

std::string content_text(const Json* content) {
  if (content == nullptr) return {};
  if (const std::string* text = content->as_text()) return *text;
  std::string joined;
  if (const Json::Array* blocks = content->as_array()) {
    for (const Json& block : *blocks) {
      if (block.text_or("type") == "text") joined += block.text_or("text");
      std::string seen = seen_in(block);
      if (!seen.empty()) joined += image_mark + seen;
    }
  }
  return joined;
}

uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return hash;
}

int64_t guess_tokens(size_t bytes) { return static_cast<int64_t>((bytes + 3) / 4); }

namespace {

// The finish of splitmix64: every bit of the number moves every bit of the result.
uint64_t mixed(uint64_t number) {
  number += 0x9e3779b97f4a7c15U;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9U;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31);
}

}  // namespace

std::string fake_id(std::string_view prefix, uint64_t conversation, uint64_t position) {
  constexpr std::string_view letters =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::array<char, 24> name;
  uint64_t state = mixed(conversation ^ mixed(position));
  for (char& letter : name) {
    state = mixed(state);
    letter = letters[state % letters.size()];
  }
  return std::string(prefix) + std::string(name.data(), name.size());
}

}  // namespace hostler::fake_model
