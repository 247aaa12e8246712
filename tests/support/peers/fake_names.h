// Names for unit tests of look-ups: every name under .fake-names.test is answered here, on the
// thread that asks, in place of the C library's getaddrinfo. All other names go to the library.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace hostler::testing_support {

// The addresses of a name, in order; empty: there is no such name. May block.
using FakeLookup = std::function<std::vector<std::string>(const std::string& name)>;

// In force as long as it lives; one at a time.
class FakeNames {
 public:
  explicit FakeNames(FakeLookup lookup);
  ~FakeNames();  // waits for look-ups that are under way
  FakeNames(const FakeNames&) = delete;
  FakeNames& operator=(const FakeNames&) = delete;
};

}  // namespace hostler::testing_support
