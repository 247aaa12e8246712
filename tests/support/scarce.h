// A limit of the kernel on a program that runs, for tests of need: the soft one, so that nobody
// wants rights to lift it again. Lifted at the object's end, when the program still lives.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>

namespace hostler::testing_support {

class Scarce {
 public:
  Scarce(pid_t pid, __rlimit_resource resource, size_t max) : pid_(pid), resource_(resource) {
    EXPECT_EQ(prlimit(pid, resource, nullptr, &before_), 0);
    rlimit few{max, before_.rlim_max};
    EXPECT_EQ(prlimit(pid, resource, &few, nullptr), 0);
  }
  ~Scarce() { prlimit(pid_, resource_, &before_, nullptr); }
  Scarce(const Scarce&) = delete;
  Scarce& operator=(const Scarce&) = delete;

 private:
  pid_t pid_;
  __rlimit_resource resource_;
  rlimit before_{};
};

}  // namespace hostler::testing_support
