// See runner/models/half_pairs.h.
#include "runner/models/half_pairs.h"

#include "runner/models/provider_error.h"

namespace hostler {
namespace {

constexpr std::string_view replacement = "\uFFFD";
constexpr size_t mark_bytes = 4;

// The half whose mark the text begins with; 0: it begins with none.
unsigned half_at(std::string_view text) {
  if (text.size() < mark_bytes || text[0] != '\xF4') return 0;
  auto bits = [&](size_t at) { return static_cast<unsigned char>(text[at]) & 0x3Fu; };
  unsigned character = 4u << 18 | bits(1) << 12 | bits(2) << 6 | bits(3);
  unsigned half = character - half_mark_base;
  return half >= 0xD800 && half <= 0xDFFF ? half : 0;
}

bool is_first(unsigned half) { return half < 0xDC00; }

void append_pair(std::string& text, unsigned first, unsigned second) {
  unsigned character = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
  text += static_cast<char>(0xF0 | character >> 18);
  text += static_cast<char>(0x80 | (character >> 12 & 0x3F));
  text += static_cast<char>(0x80 | (character >> 6 & 0x3F));
  text += static_cast<char>(0x80 | (character & 0x3F));
}

}  // namespace

std::string HalfPairs::joined(int64_t stream, std::string_view piece) {
  if (piece.empty()) return {};
  std::string text;
  unsigned first = 0;
  if (auto known = waiting_.find(stream); known != waiting_.end()) {
    first = known->second;
    waiting_.erase(known);
  }
  while (!piece.empty()) {
    unsigned half = half_at(piece);
    if (half == 0) {
      if (first != 0) text += replacement;
      first = 0;
      size_t next = piece.find('\xF4', 1);
      text += piece.substr(0, next);
      piece.remove_prefix(next == piece.npos ? piece.size() : next);
      continue;
    }
    piece.remove_prefix(mark_bytes);
    if (first != 0 && !is_first(half)) {
      append_pair(text, first, half);
      first = 0;
      continue;
    }
    if (first != 0) text += replacement;
    first = is_first(half) ? half : 0;
    if (first == 0) text += replacement;
  }
  if (first != 0) waiting_[stream] = first;
  return text;
}

}  // namespace hostler
