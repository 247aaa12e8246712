// The fuzzer: one program for all targets, libFuzzer's own main in front.
//   fuzzer --target=json [libFuzzer's flags] corpus…      fuzzer --list
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/targets.h"

namespace {

hostler::fuzz::TargetFunction chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  constexpr std::string_view option = "--target=";  // libFuzzer skips what begins with two dashes
  for (int i = 1; i < *count; ++i) {
    std::string_view argument = (*arguments)[i];
    for (const hostler::fuzz::TargetRow& row : hostler::fuzz::targets) {
      if (argument == "--list") std::puts(row.name.data());
      bool is_option = argument.starts_with(option);
      if (is_option && argument.substr(option.size()) == row.name) chosen = row.function;
    }
    if (argument == "--list") std::exit(0);
  }
  if (chosen != nullptr) return 0;
  std::fputs("fuzzer: --target=NAME chooses one of --list\n", stderr);
  std::exit(64);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  chosen({reinterpret_cast<const char*>(bytes), count});
  return 0;
}
