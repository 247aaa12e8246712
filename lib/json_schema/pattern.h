// A pattern of JSON Schema: a regular expression of ECMA-262 (with the flag u), matched in linear
// time by RE2, whose only includer this is. What RE2 means otherwise (\s, the dot, \u0041) is
// translated; what it cannot do (looking around, references back) is refused when it is declared,
// but for looking ahead at the pattern's beginning (lib/json_schema/lookahead).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace re2 {
class RE2;
}

namespace hostler::json_schema {

// Memory for RE2's program and the states it remembers. A pattern that needs more is refused.
constexpr int pattern_memory_max = 512 * 1024;
constexpr size_t pattern_instructions_max = 32'768;  // more do not fit into that
constexpr int pattern_repeats_max = 1000;            // RE2's own

class Pattern {
 public:
  // Returns the pattern, or why it is refused and how to fix it.
  static std::variant<Pattern, std::string> compile(std::string_view expression);

  // Somewhere in the text; ^ and $ mean its ends.
  bool is_found_in(std::string_view text) const;
  // Instructions of its program, as many more as reading its properties of Unicode took:
  // compiling one takes up to a microsecond.
  size_t instructions() const;
  // Maximum work of matching a text of so many bytes, if RE2's remembered states do not help: each
  // byte looks at every character of the expression that may come next.
  size_t nanoseconds_max(size_t text_bytes) const;

 private:
  struct Part {
    std::shared_ptr<const re2::RE2> expression;
    size_t positions = 0;
    size_t properties = 0;
    bool is_wanted = true;  // a text that fits has none of the others
  };
  static std::variant<Part, std::string> compile_part(std::string_view expression, int memory_max);

  std::vector<Part> parts_;
};

}  // namespace hostler::json_schema
