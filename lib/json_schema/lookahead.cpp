// See lib/json_schema/lookahead.h.
#include "lib/json_schema/lookahead.h"

namespace hostler::json_schema {
namespace {

constexpr size_t nowhere = std::string_view::npos;

// Goes through an expression piece by piece: what is escaped or within brackets is one.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // Where the group ends that is open from the beginning on: its ). nowhere: it does not.
  size_t group_end() {
    while (at_ < text_.size()) {
      size_t here = at_;
      if (char sign = next(); depth_ < 0 && sign == ')') return here;
    }
    return nowhere;
  }

  bool has_alternatives() {
    while (at_ < text_.size()) {
      if (next() == '|' && depth_ == 0) return true;
    }
    return false;
  }

 private:
  char next() {
    char sign = text_[at_++];
    if (sign == '\\') ++at_;
    if (sign == '[') skip_class();
    if (sign == '(') ++depth_;
    if (sign == ')') --depth_;
    return sign;
  }
  void skip_class() {
    while (at_ < text_.size() && text_[at_] != ']') at_ += text_[at_] == '\\' ? 2 : 1;
    ++at_;
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<SplitPattern> split_lookaheads(std::string_view expression) {
  if (!expression.starts_with('^')) return std::nullopt;
  expression.remove_prefix(1);
  SplitPattern split;
  while (expression.starts_with("(?!") || expression.starts_with("(?=")) {
    bool is_negative = expression[2] == '!';
    expression.remove_prefix(3);
    size_t end = Scanner(expression).group_end();
    if (end == nowhere || split.lookaheads.size() == lookaheads_max) return std::nullopt;
    std::string body = "^(?:" + std::string(expression.substr(0, end)) + ")";
    split.lookaheads.push_back({std::move(body), is_negative});
    expression.remove_prefix(end + 1);
  }
  if (split.lookaheads.empty() || Scanner(expression).has_alternatives()) return std::nullopt;
  split.rest = "^" + std::string(expression);
  return split;
}

}  // namespace hostler::json_schema
