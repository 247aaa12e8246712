// Memory for RapidJSON's reader (lib/json.cpp), which writes to what its allocator answers, also to
// nothing: where there is no memory, this one throws std::bad_alloc and never answers.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace hostler {

struct ThrowingAllocator {
  static constexpr bool kNeedFree = true;
  static void* Malloc(size_t bytes) { return Realloc(nullptr, 0, bytes); }
  static void* Realloc(void* before, size_t, size_t bytes) {
    if (bytes == 0) {
      std::free(before);
      return nullptr;
    }
    void* block = std::realloc(before, bytes);
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
  static void Free(void* block) noexcept { std::free(block); }
};

}  // namespace hostler
