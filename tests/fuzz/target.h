// Parts of the fuzz targets. A target takes bytes and asserts what must be true of every input; the
// table in targets.h names them all. Used by the fuzzer (tests/fuzz/fuzzer.cpp) and, for the kept
// inputs, by tests/unit/fuzz_corpus_test.cpp.
#pragma once

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "lib/error.h"

namespace hostler::fuzz {

// A property that does not hold. No target catches it: the fuzzer dies of it, a test fails.
struct Broken : std::logic_error {
  using std::logic_error::logic_error;
};

inline void require(bool holds, const char* property) {
  if (!holds) throw Broken(property);
}

// The refusal that the call ended with; nothing: it took its input. Anything else that is thrown
// goes on to the fuzzer.
template <class Call>
std::optional<Error> refusal_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

// Inputs of several parts: the next line without its end; what is after it stays.
inline std::string_view take_line(std::string_view& rest) {
  std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  return line;
}

// The next byte as a number; 0 at the end.
inline unsigned take_byte(std::string_view& rest) {
  if (rest.empty()) return 0;
  unsigned byte = static_cast<unsigned char>(rest.front());
  rest.remove_prefix(1);
  return byte;
}

}  // namespace hostler::fuzz
