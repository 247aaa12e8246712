// How far a JSON text has come that arrives in pieces: whether its value is whole. Looks at each
// byte once and keeps none. Used by readers of streams.
#pragma once

#include <cstddef>
#include <string_view>

namespace hostler {

class JsonProgress {
 public:
  void add(std::string_view piece) {
    for (char c : piece) add(c);
  }
  // Something other than white space came.
  bool has_begun() const { return has_begun_; }
  // An object or array was opened, and the last one is closed.
  bool is_whole() const { return is_container_ && depth_ == 0; }
  // An object or array, or a text in it, is still open.
  bool is_open() const { return depth_ > 0; }

 private:
  void add(char c) {
    if (is_in_text_) {
      if (is_escaped_) {
        is_escaped_ = false;
      } else if (c == '\\') {
        is_escaped_ = true;
      } else if (c == '"') {
        is_in_text_ = false;
      }
      return;
    }
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') return;
    if (!has_begun_) is_container_ = c == '{' || c == '[';
    has_begun_ = true;
    if (c == '"') {
      is_in_text_ = depth_ > 0;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && depth_ > 0) {
      --depth_;
    }
  }
  size_t depth_ = 0;
  bool has_begun_ = false;
  bool is_container_ = false;
  bool is_in_text_ = false;
  bool is_escaped_ = false;
};

}  // namespace hostler
