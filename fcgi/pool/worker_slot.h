// What master and worker share: the place of a worker in the pool. Each seat lies in shared memory
// made by the master before it forks.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "fcgi/http/api_metrics.h"
#include "fcgi/password/password_permits.h"
#include "fcgi/pool/rate_table.h"
#include "lib/metrics.h"

namespace hostler {

struct Seat {
  // Monotonic milliseconds of the last turn of the worker's loop; the master ends a worker that is
  // silent too long.
  std::atomic<int64_t> beat_ms;
  std::atomic<bool> is_serving;  // set by the worker, cleared by the master before it forks
};

// Seats that survive forks and are shared by them; freed with the last process.
class Seats {
 public:
  explicit Seats(int count);
  ~Seats();
  Seats(const Seats&) = delete;
  Seats& operator=(const Seats&) = delete;
  Seat& operator[](int index) { return seats_[index]; }
  int count() const { return count_; }

 private:
  Seat* seats_;
  int count_;
};

// All that the pool's processes share.
struct SharedPool {
  SharedPool(int workers, const std::string& lock_dir)
      : seats(workers), metrics(api_metric_rows(), workers), passwords(workers, lock_dir) {}
  Seats seats;
  Metrics metrics;
  RateTable rates;
  PasswordPlaces passwords;
};

int64_t monotonic_ms();
int64_t monotonic_us();

// What a worker gets from its master.
struct WorkerPlace {
  int seat_number;
  int listen_fd;
  int tcp_fd;    // the port beside it; -1: none
  int drain_fd;  // reads as closed when the worker is to finish
};

}  // namespace hostler
