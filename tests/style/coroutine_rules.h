// Rules about coroutines: what a statement with co_await may look like. Listed, with their reasons,
// in tests/style/rules.h.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "tests/style/source_text.h"

namespace hostler::style {

// `if (…)`, `while (…)` and `else` may stand before the one thing that a statement does.
inline std::string_view without_condition(std::string_view statement) {
  for (bool again = true; again;) {
    again = false;
    size_t from = statement.find_first_not_of(" \t\n");
    if (from == std::string_view::npos) return {};
    statement.remove_prefix(from);
    if (statement.starts_with("else") && statement.size() > 4 && !is_word_char(statement[4])) {
      statement.remove_prefix(4);
      again = true;
    } else if (statement.starts_with("if (") || statement.starts_with("while (")) {
      size_t close = closing_of(statement, statement.find('('));
      bool tests_await = statement.substr(0, close).find("co_await") != std::string_view::npos;
      if (close == std::string_view::npos || tests_await) return statement;
      statement.remove_prefix(close + 1);
      again = true;
    }
  }
  return statement;
}

// Returns what is wrong with a statement that holds co_await; empty: nothing.
inline std::string await_fault(std::string_view statement) {
  statement = without_condition(statement);
  size_t first = statement.find("co_await");
  if (statement.find("co_await", first + 1) != std::string_view::npos) return "two awaits";
  if (statement.find('{') != std::string_view::npos) return "braces (an aggregate or a lambda)";
  if (statement.find('?') != std::string_view::npos) return "?:";
  std::string before = trimmed(statement.substr(0, first));
  if (before.empty()) return {};
  if (before.ends_with("co_return") || before.ends_with("return")) return "awaits and returns";
  if (before.find("auto [") != before.npos || before.find("auto& [") != before.npos)
    return "a structured binding";
  bool is_assignment = before.ends_with('=') && before.find('(') == before.npos;
  if (!is_assignment) return "the await is part of a larger expression";
  return {};
}

// From behind the last ; { } (or a closed for-head) to the next ; or to a brace's whole block.
inline std::string_view statement_around(std::string_view code, size_t at) {
  size_t begin = at;
  while (begin > 0 && std::string_view(";{}").find(code[begin - 1]) == std::string_view::npos)
    --begin;
  size_t end = at;
  while (end < code.size() && code[end] != ';') ++end;
  return code.substr(begin, end - begin);
}

inline Findings await_form(const SourceFile& file) {
  if (!is_cpp(file.path)) return {};
  std::string code = take_apart(file.text).code;
  Findings findings;
  size_t counted_to = 0;
  for (const Word& word : words_of(code)) {
    bool is_new = word.text == "co_await" && word.begin >= counted_to;
    if (!is_new || word_before(code, word.begin) == "operator") continue;
    std::string_view statement = statement_around(code, word.begin);
    counted_to = static_cast<size_t>(statement.data() - code.data()) + statement.size();
    std::string fault = await_fault(statement);
    if (!fault.empty()) findings.push_back({file.path, line_at(code, word.begin), fault});
  }
  return findings;
}

// The body of the lambda whose captures open at `open`, or an empty text.
inline std::string_view lambda_body(std::string_view code, size_t open) {
  size_t at = closing_of(code, open);
  if (at == std::string_view::npos) return {};
  ++at;
  while (at < code.size() && code[at] != '{') {
    if (code[at] == ';' || code[at] == ')' || code[at] == ',') return {};  // an index, no lambda
    at = code[at] == '(' ? closing_of(code, at) : at;
    if (at == std::string_view::npos) return {};
    ++at;
  }
  if (at >= code.size()) return {};
  return code.substr(at, closing_of(code, at) - at);
}

inline Findings capturing_coroutine(const SourceFile& file) {
  if (!is_cpp(file.path)) return {};
  std::string code = take_apart(file.text).code;
  Findings findings;
  for (size_t open = code.find('['); open != code.npos; open = code.find('[', open + 1)) {
    size_t close = closing_of(code, open);
    char before = char_before(code, open);
    bool may_be_lambda = !is_word_char(before) && before != ')' && before != ']' && before != '[';
    if (!may_be_lambda || close == code.npos ||
        trimmed(code.substr(open + 1, close - open - 1)).empty())
      continue;
    std::string_view body = lambda_body(code, open);
    bool is_coroutine = body.find("co_await") != body.npos || body.find("co_return") != body.npos;
    if (is_coroutine)
      findings.push_back({file.path, line_at(code, open), "a lambda that captures and awaits"});
  }
  return findings;
}

}  // namespace hostler::style
