// Processor time of the calling thread, for tests of work that is left to other threads: unlike the
// clock it stands still while the machine is busy with others.
#pragma once

#include <cstdint>
#include <ctime>

namespace hostler::testing_support {

inline int64_t cpu_of_thread_us() {
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return spent.tv_sec * 1'000'000 + spent.tv_nsec / 1'000;
}

}  // namespace hostler::testing_support
