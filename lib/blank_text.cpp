// See lib/blank_text.h.
#include "lib/blank_text.h"

#include <array>
#include <cstddef>

namespace hostler {
namespace {

using namespace std::string_view_literals;

constexpr std::array blanks = {"\t"sv,           "\n"sv,           "\v"sv,
                               "\f"sv,           "\r"sv,           " "sv,
                               "\xC2\x85"sv,     "\xC2\xA0"sv,     "\xE1\x9A\x80"sv,
                               "\xE2\x80\x80"sv, "\xE2\x80\x81"sv, "\xE2\x80\x82"sv,
                               "\xE2\x80\x83"sv, "\xE2\x80\x84"sv, "\xE2\x80\x85"sv,
                               "\xE2\x80\x86"sv, "\xE2\x80\x87"sv, "\xE2\x80\x88"sv,
                               "\xE2\x80\x89"sv, "\xE2\x80\x8A"sv, "\xE2\x80\xA8"sv,
                               "\xE2\x80\xA9"sv, "\xE2\x80\xAF"sv, "\xE2\x81\x9F"sv,
                               "\xE3\x80\x80"sv};

// Bytes of the white space that the text begins with; 0: it begins with none.
size_t blank_at(std::string_view text) {
  for (std::string_view blank : blanks) {
    if (text.starts_with(blank)) return blank.size();
  }
  return 0;
}

}  // namespace

bool is_blank_text(std::string_view utf8) {
  while (!utf8.empty()) {
    size_t size = blank_at(utf8);
    if (size == 0) return false;
    utf8.remove_prefix(size);
  }
  return true;
}

}  // namespace hostler
