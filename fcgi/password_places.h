// How many passwords the pool's workers hash, in memory that they share: two at once on a host,
// whatever the number of workers. Made by the master before it forks, used by fcgi/password_gate.h.
#pragma once

#include <array>
#include <atomic>

namespace hostler {

class PasswordPlaces {
 public:
  static constexpr int running_max = 2;

  // seats: how many processes take part. Throws internal_error when there is no memory.
  explicit PasswordPlaces(int seats);
  ~PasswordPlaces();
  PasswordPlaces(const PasswordPlaces&) = delete;
  PasswordPlaces& operator=(const PasswordPlaces&) = delete;

  // False when two are hashing. Whoever took a place leaves it.
  bool take(int seat);
  void leave(int seat);
  void begin_wait(int seat) { memory_->waiting[seat].fetch_add(1); }
  void end_wait(int seat) { memory_->waiting[seat].fetch_sub(1); }
  int waiting(int seat) const { return memory_->waiting[seat].load(); }
  int waiting_in_pool() const;  // of all seats
  // Before a new process takes the seat: what the last one held when it died.
  void clear(int seat);

 private:
  static constexpr int seats_max = 256;
  struct Memory {
    std::array<std::atomic<int>, running_max> holders;  // seat + 1; 0: free
    std::array<std::atomic<int>, seats_max> waiting;
  };
  Memory* memory_;
  int seats_;
};

}  // namespace hostler
