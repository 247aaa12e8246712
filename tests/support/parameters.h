// How large a stress test is: a parameter of the environment, else the small one that every `make
// test` can bear. `make faults` and `make soak` set the larger ones (tests/faults/run).
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace hostler::testing_support {

inline int64_t parameter(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  std::string_view digits(text == nullptr ? "" : text);
  std::from_chars(digits.data(), digits.data() + digits.size(), fallback);
  return fallback;
}

}  // namespace hostler::testing_support
