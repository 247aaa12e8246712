// The walls around the process that decodes one file: limits of memory and time, no file system, no
// network, no other process. Entered by files/main.cpp before the first byte of a file is read.
#pragma once

#include <cstdint>
#include <string>

namespace hostler::files {

struct SandboxLimits {
  int64_t memory_bytes = int64_t{512} << 20;  // heap and anonymous mappings
  int64_t address_bytes = int64_t{2} << 30;   // with the libraries and what threads reserve
  int64_t seconds = 20;                       // of the clock, and of the processor
};

// Cannot be taken back. Returns an empty text, or which wall is missing and why; then the process
// must not read a file. Landlock is skipped where the kernel does not have it, because the system
// calls that open files are refused anyway. A process that passes its time is killed.
std::string enter_sandbox(const SandboxLimits& limits);

}  // namespace hostler::files
