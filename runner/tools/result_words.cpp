// See runner/tools/result_words.h.
#include "runner/tools/result_words.h"

#include <optional>

#include "lib/json.h"

namespace hostler::runner {

std::string words_of_result(std::string_view json) {
  size_t begin = json.find_first_not_of(" \t\r\n");
  bool is_text = begin != std::string_view::npos && json[begin] == '"';
  if (!is_text) return std::string(json);
  std::optional<Json> text = parse_json_or_nothing(json);
  return text && text->is_text() ? *text->as_text() : std::string(json);
}

}  // namespace hostler::runner
