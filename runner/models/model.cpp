// See runner/models/model.h.
#include "runner/models/model.h"

#include <algorithm>

#include "lib/ascii.h"

namespace hostler {

std::string_view ChatMessage::first_text() const {
  for (const Part& part : parts) {
    if (const TextPart* text_part = std::get_if<TextPart>(&part)) return text_part->text;
  }
  return {};
}

std::string& ChatMessage::first_text() {
  for (Part& part : parts) {
    if (TextPart* text_part = std::get_if<TextPart>(&part)) return text_part->text;
  }
  return std::get<TextPart>(parts.emplace_back(TextPart())).text;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(ascii::white_space) == std::string_view::npos;
}

std::string name_on_the_wire(std::string_view name) {
  constexpr size_t name_bytes_max = 64;
  std::string safe(name.substr(0, name_bytes_max));
  std::replace_if(
      safe.begin(), safe.end(),
      [](char c) { return !ascii::is_letter_or_digit(c) && c != '_' && c != '-'; }, '_');
  return safe.empty() ? "_" : safe;
}

int64_t estimate_input_tokens(const ModelRequest& request) {
  size_t bytes = 0;
  for (const ChatMessage& message : request.messages) bytes += bytes_of(message.parts);
  for (const ToolDefinition& tool : request.tools) {
    bytes += tool.name.size() + tool.description.size() + tool.parameters.size();
  }
  if (const std::optional<ResponseFormat>& format = request.response_format) {
    bytes += format->schema.size() + format->description.size();
  }
  return tokens_of_bytes(bytes);
}

// Anthropic's mode takes schemas that name every member of every object and holds the model to
// them, which is what OpenAI calls strict; it has none for any object.
bool has_own_mode(ProviderKind kind, const ResponseFormat& format) {
  if (kind == ProviderKind::openai) return true;
  return format.has_schema && format.strict.value_or(false);
}

}  // namespace hostler
