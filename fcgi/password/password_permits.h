// How many passwords are hashed at once: two on a host, whatever the number of pools and
// workers, and never on more than half of its cores, so that requests that need no hash find
// one. Places are locks on two files that all pools of the host have open, so that whoever dies
// has left theirs; how many wait is told in memory that a pool's workers share. Made by the
// master before it forks, used by fcgi/password/password_gate.h.
#pragma once

#include <array>
#include <atomic>
#include <string>
#include <vector>

namespace hostler {

class PasswordPlaces {
 public:
  static constexpr int running_max = 2;
  // How many of them are used on a host of so many cores (0: not known).
  static int running_on(unsigned cores) { return cores < 4 ? 1 : running_max; }

  // seats: how many processes of the pool take part. lock_dir: where all pools of the host have
  // their files; without one that can be used the pool has them for itself, and is_alone().
  // running: 1 to running_max; less than 1: as many as this host's cores allow. Throws
  // internal_error when there is no memory.
  explicit PasswordPlaces(int seats, const std::string& lock_dir = "", int running = 0);
  ~PasswordPlaces();
  PasswordPlaces(const PasswordPlaces&) = delete;
  PasswordPlaces& operator=(const PasswordPlaces&) = delete;

  bool is_alone() const { return is_alone_; }
  int running() const { return running_; }
  void begin_wait(int seat) { waiters(seat).fetch_add(1); }
  void end_wait(int seat) { waiters(seat).fetch_sub(1); }
  int waiting(int seat) const { return waiters(seat).load(); }
  int waiting_in_pool() const;  // of all seats
  // Before a new process takes the seat: those who waited with the last one.
  void clear(int seat) { waiters(seat).store(0); }

 private:
  friend class PasswordLocks;
  static constexpr int seats_max = 256;
  struct Memory {
    std::array<std::atomic<int>, seats_max> waiting;
  };
  std::atomic<int>& waiters(int seat) const { return memory_->waiting[static_cast<size_t>(seat)]; }

  Memory* memory_;
  int seats_;
  int running_;
  bool is_alone_ = false;
  std::array<int, running_max> files_;
};

// One a worker, made in it: a lock belongs to whoever opened the file.
class PasswordLocks {
 public:
  // Throws internal_error when the files cannot be opened again.
  explicit PasswordLocks(const PasswordPlaces& places);
  ~PasswordLocks();
  PasswordLocks(const PasswordLocks&) = delete;
  PasswordLocks& operator=(const PasswordLocks&) = delete;

  // False when as many are hashing as may. Whoever took a place leaves it.
  bool take();
  void leave();

 private:
  struct Lock {
    int fd = -1;
    bool is_held = false;
  };
  std::vector<Lock> locks_;
};

}  // namespace hostler
