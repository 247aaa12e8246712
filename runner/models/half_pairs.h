// Joins characters whose two halves (UTF-16 surrogates) a server sent in two pieces of a text.
// Used by the turn reader for events that parse_stream_json() had to mend.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace hostler {

class HalfPairs {
 public:
  // The piece with the marks of parse_stream_json() taken out: two halves make their character, a
  // half that stays alone U+FFFD. A first half at the piece's end waits for the stream's next
  // piece.
  std::string joined(int64_t stream, std::string_view piece);
  // Whether a piece of any stream waits for its second half.
  bool is_waiting() const { return !waiting_.empty(); }
  // Whether this stream's does; it does no longer.
  bool gave_up(int64_t stream) { return waiting_.erase(stream) > 0; }

 private:
  std::unordered_map<int64_t, unsigned> waiting_;  // of a stream the first half
};

}  // namespace hostler
