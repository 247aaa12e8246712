// See runner/models/format_words.h.
#include "runner/models/format_words.h"

namespace hostler {

std::string answer_form_words(const ResponseFormat& format) {
  if (!format.has_schema) {
    return "Your final answer is one JSON object, with nothing before or after it.";
  }
  return "Your final answer is JSON that fits this JSON Schema, with nothing before or after "
         "it:\n" +
         format.schema;
}

std::string answer_purpose_words(const ResponseFormat& format) {
  if (format.description.empty()) return {};
  return "The purpose of your final answer: " + format.description;
}

std::string replaced_mode_words(const ModelRequest& request) {
  if (!request.traits.no_response_format || !request.response_format) return {};
  const ResponseFormat& format = *request.response_format;
  ProviderKind kind = request.endpoint.provider_kind;
  if (!format.has_schema || !has_own_mode(kind, format)) return {};
  // OpenAI's mode has a place for the purpose.
  std::string words;
  if (kind == ProviderKind::openai) words = answer_purpose_words(format);
  if (!words.empty()) words += "\n\n";
  return words + answer_form_words(format);
}

}  // namespace hostler
