// Memory that master and worker share: a slot for each worker of the pool, which the master creates
// before it forks.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "fcgi/http/api_metrics.h"
#include "fcgi/password/password_permits.h"
#include "fcgi/pool/rate_table.h"
#include "lib/metrics.h"

namespace hostler {

struct WorkerSlot {
  // Monotonic milliseconds of the last turn of the worker's loop; the master ends a worker that is
  // silent too long.
  std::atomic<int64_t> heartbeat_ms;
  std::atomic<bool> is_serving;  // set by the worker, cleared by the master before it forks
};

// WorkerSlots that survive forks and are shared by them; freed with the last process.
class WorkerSlots {
 public:
  explicit WorkerSlots(int count);
  ~WorkerSlots();
  WorkerSlots(const WorkerSlots&) = delete;
  WorkerSlots& operator=(const WorkerSlots&) = delete;
  WorkerSlot& operator[](int index) { return worker_slots_[index]; }
  int count() const { return count_; }

 private:
  WorkerSlot* worker_slots_;
  int count_;
};

// All that the pool's processes share.
struct SharedPool {
  SharedPool(int workers, const std::string& lock_dir)
      : worker_slots(workers), metrics(api_metric_rows(), workers), passwords(workers, lock_dir) {}
  WorkerSlots worker_slots;
  Metrics metrics;
  RateTable rates;
  PasswordPermits passwords;
};

int64_t monotonic_ms();
int64_t monotonic_us();

// Values that a worker gets from its master.
struct WorkerContext {
  int slot_number;
  int listen_fd;
  int tcp_fd;    // the port beside it; -1: none
  int drain_fd;  // reads as closed when the worker is to finish
};

}  // namespace hostler
