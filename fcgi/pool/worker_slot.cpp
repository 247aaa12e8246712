// Shared memory of the pool; see fcgi/pool/worker_slot.h.
#include "fcgi/pool/worker_slot.h"

#include <sys/mman.h>
#include <time.h>

#include <new>

#include "lib/error.h"

namespace hostler {

WorkerSlots::WorkerSlots(int count) : count_(count) {
  size_t size = sizeof(WorkerSlot) * static_cast<size_t>(count);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error(ErrorCode::internal_error, {}, "no shared memory");
  worker_slots_ = static_cast<WorkerSlot*>(memory);
  for (int i = 0; i < count; ++i) new (&worker_slots_[i]) WorkerSlot{};
}

WorkerSlots::~WorkerSlots() {
  munmap(worker_slots_, sizeof(WorkerSlot) * static_cast<size_t>(count_));
}

int64_t monotonic_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000;
}

int64_t monotonic_ms() { return monotonic_us() / 1'000; }

}  // namespace hostler
