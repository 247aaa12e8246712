// See runner/models/context_excess.h. tests/unit/models/context_excess_test.cpp lists the messages
// of servers.
#include "runner/models/context_excess.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "lib/ascii.h"

namespace hostler {
namespace {

constexpr size_t read_bytes_max = 4096;

// In lower case, as all that is compared here.
constexpr std::string_view marks[] = {"context_length_exceeded",
                                      "context length",
                                      "context window",
                                      "context size",
                                      "contextwindow",
                                      "context limit",
                                      "maximum context",
                                      "max context",
                                      "prompt is too long",
                                      "prompt too long",
                                      "prompt_too_long",
                                      "input is too long",
                                      "input too long",
                                      "inputs too long",
                                      "too many tokens",
                                      "input token count",
                                      "token limit",
                                      "input tokens",
                                      "maximum prompt",
                                      "reduce the length",
                                      "reduce your prompt",
                                      "reduce the prompt",
                                      "reduce your message",
                                      "tokens exceed",
                                      "exceed_context_size",
                                      "request_too_large",
                                      "request too large",
                                      "`inputs` tokens",
                                      "max_prompt_tokens",
                                      "max_model_len",
                                      "string too long",
                                      "number of tokens",
                                      "input length",
                                      "request exceeds the maximum size",
                                      "prompt token count",
                                      "prompt exceeds",
                                      "exceeds max length",
                                      "prompt is longer than",
                                      "input is longer than",
                                      "maximum input"};

// These speak of the limit of the output, or of rates, and a shorter history does not help.
constexpr std::string_view other_marks[] = {"max_tokens' is too large",
                                            "max_tokens is too large",
                                            "max_completion_tokens' is too large",
                                            "max_completion_tokens is too",
                                            "max_tokens must be",
                                            "`max_tokens` must be less"};

constexpr std::string_view limit_words[] = {
    "length is",      "limit",      "maximum",        "context size (",
    "length of only", "allowed (",  "n_ctx",          "window of",
    "window (",       "<=",         "at most",        "up to",
    "cannot exceed",  "not exceed", "maximum length", "max"};
constexpr std::string_view asked_words[] = {
    "requested",      "resulted in", "request (",  "request has",  "contains",
    "too long",       "received",    "given",      "token count",  "got",
    "your input",     "you have",    "prompt has", "messages has", "input of",
    "keep the first", "tokens in",   "have"};

template <size_t size>
size_t last_of(std::string_view text, const std::string_view (&words)[size]) {
  size_t last = 0;
  for (std::string_view word : words) {
    size_t at = text.rfind(word);
    if (at != text.npos) last = std::max(last, at + word.size());
  }
  return last;
}

template <size_t size>
bool has_any(std::string_view text, const std::string_view (&words)[size]) {
  return std::any_of(std::begin(words), std::end(words),
                     [text](std::string_view word) { return text.find(word) != text.npos; });
}

struct Figures {
  int64_t limit = 0;
  int64_t asked = 0;
  int64_t first = 0;
};

// before: the words between the number before and this one.
void take_number(Figures& figures, int64_t number, std::string_view before,
                 std::string_view behind) {
  constexpr int64_t tokens_min = 64;
  if (number < tokens_min || ascii::trimmed(before, " ").ends_with(" by")) return;
  if (figures.first == 0) figures.first = number;
  if (ascii::trimmed(before, " ").ends_with('>')) {
    figures.limit = number;
    figures.asked = figures.first;
    return;
  }
  size_t limit = last_of(before, limit_words);
  size_t asked = last_of(before, asked_words);
  bool is_limit = limit > asked || (asked == 0 && behind.starts_with(" max")) ||
                  (before.ends_with("model with ") && behind.starts_with(" max"));
  int64_t& figure = is_limit ? figures.limit : figures.asked;
  if (figure == 0 && (is_limit || asked > 0)) figure = number;
}

// Digits, grouped by commas or not; 0: the text does not begin with a number of its own.
int64_t number_at(std::string_view text, size_t at, size_t& end) {
  std::string digits;
  for (end = at; end < text.size() && digits.size() < 15; ++end) {
    bool is_group = text[end] == ',' && end + 1 < text.size() && ascii::is_digit(text[end + 1]);
    if (ascii::is_digit(text[end])) {
      digits += text[end];
    } else if (!is_group) {
      break;
    }
  }
  char before = at == 0 ? ' ' : text[at - 1];
  bool is_part = ascii::is_letter_or_digit(before) || before == '-' || before == '.' ||
                 before == '_' || (end < text.size() && ascii::is_letter(text[end]));
  int64_t number = 0;
  if (!is_part) std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

Figures figures_in(std::string_view text) {
  Figures figures;
  size_t behind_last = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!ascii::is_digit(text[at])) continue;
    size_t end = at;
    int64_t number = number_at(text, at, end);
    if (number > 0) {
      take_number(figures, number, text.substr(behind_last, at - behind_last), text.substr(end));
      behind_last = end;
    }
    at = end - 1;
  }
  return figures;
}

}  // namespace

std::optional<ContextExcess> context_excess(int status, const ProviderError& error) {
  bool is_other = status < 400 || status == 401 || status == 402 || status == 403 ||
                  status == 404 || status == 429;
  if (is_other) return std::nullopt;
  std::string text = ascii::lower_case(std::string_view(error.message).substr(0, read_bytes_max));
  std::string named = text + ' ' + ascii::lower_case(error.code);
  if (!has_any(named, marks) || has_any(named, other_marks)) return std::nullopt;
  ContextExcess excess;
  excess.message = error.message;
  // A limit of tokens for a minute is not the model's.
  bool is_rate = text.find("per min") != text.npos;
  Figures figures = is_rate ? Figures() : figures_in(text);
  excess.limit_tokens = figures.limit;
  if (figures.asked > figures.limit) excess.asked_tokens = figures.asked;
  return excess;
}

}  // namespace hostler
