// The pieces of script_words.h.
#include "dev/fake-model/script_words.h"

#include <algorithm>
#include <charconv>

#include "dev/fake-model/chat_checks.h"
#include "lib/json.h"

namespace hostler::fake_model {
namespace {

constexpr std::string_view blanks = " \t\r\n";

void trim_front(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
}

std::optional<int64_t> whole_number(std::string_view text, int64_t min, int64_t max) {
  int64_t number = 0;
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number < min || number > max) return std::nullopt;
  return number;
}

// How far a JSON object at the start of the text goes, or 0: braces count outside of strings.
size_t object_length(std::string_view text) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return 0;
}

}  // namespace

Words::Words(std::string_view text) {
  trim_front(text);
  while (!text.empty()) {
    size_t end = std::min(text.find_first_of(blanks), text.size());
    words_.push_back(text.substr(0, end));
    text.remove_prefix(end);
    trim_front(text);
  }
}

bool Words::take_number(int64_t min, int64_t max, int64_t& number) {
  if (words_.empty()) return false;
  std::optional<int64_t> taken = whole_number(words_.front(), min, max);
  if (!taken) return false;
  number = *taken;
  words_.erase(words_.begin());
  return true;
}

bool Words::take_word(std::string_view word) {
  auto found = std::find(words_.begin(), words_.end(), word);
  if (found == words_.end()) return false;
  words_.erase(found);
  return true;
}

std::optional<int64_t> Words::take_named(std::string_view name, int64_t min, int64_t max) {
  for (auto found = words_.begin(); found != words_.end(); ++found) {
    std::string_view word = *found;
    if (!word.starts_with(name) || word.substr(name.size(), 1) != "=") continue;
    std::optional<int64_t> number = whole_number(word.substr(name.size() + 1), min, max);
    if (number) words_.erase(found);
    return number;
  }
  return std::nullopt;
}

std::string Words::rest() const {
  std::string joined;
  for (std::string_view word : words_) {
    if (!joined.empty()) joined += ' ';
    joined += word;
  }
  return joined;
}

std::string unescaped(std::string_view text) {
  trim_front(text);
  text = text.substr(0, text.find_last_not_of(blanks) + 1);
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (text[i] != '\\' || (next != 'n' && next != '[' && next != ']' && next != '\\')) {
      out += text[i];
      continue;
    }
    out += next == 'n' ? '\n' : next;
    ++i;
  }
  return out;
}

std::optional<std::string> take_call(std::string_view& rest, ToolCall& call) {
  trim_front(rest);
  size_t end = std::min(rest.find_first_of(" \t\r\n|{"), rest.size());
  call.name = rest.substr(0, end);
  call.arguments = "{}";
  if (!is_tool_name(call.name)) return "wants a tool's name of letters, digits, _ and -";
  rest.remove_prefix(end);
  trim_front(rest);
  if (!rest.starts_with('{')) return std::nullopt;
  size_t length = object_length(rest);
  std::optional<Json> arguments = parse_json_or_nothing(rest.substr(0, length));
  if (length == 0 || !arguments || !arguments->is_object()) {
    return "wants arguments that are a JSON object";
  }
  call.arguments = rest.substr(0, length);
  rest.remove_prefix(length);
  return std::nullopt;
}

bool take_bar(std::string_view& rest) {
  trim_front(rest);
  if (!rest.starts_with('|')) return false;
  rest.remove_prefix(1);
  return true;
}

size_t bracket_behind_json(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ']') return i;
    if (text[i] != '{') continue;
    size_t length = object_length(text.substr(i));
    if (length == 0) return std::string_view::npos;
    i += length - 1;
  }
  return std::string_view::npos;
}

size_t bracket_behind_text(std::string_view text) {
  size_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '[') {
      ++depth;
    } else if (text[i] == ']' && depth-- == 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

}  // namespace hostler::fake_model
