// How many passwords are hashed at once: two on a host, whatever the number of pools and
// workers, and never on more than half of its cores, so that requests that need no hash find
// one; and one more of those who are known, who wait behind no stranger's so. Permits are locks on
// three files that all pools of the host have open, so that a process that
// dies gives its permit back; how many wait, and whose turn it is, stands in memory that a pool's
// workers share. Made by the master before it forks, used by fcgi/password/password_semaphore.h.
#pragma once

#include <array>
#include <atomic>
#include <string>
#include <vector>

namespace hostler {

// Classes of waiters for a permit. A login from a known network (known) goes first. Among the
// others, logins (brief) and changes of a password or registrations (patient) take turns.
enum class PasswordQueue { known, brief, patient };

class PasswordPermits {
 public:
  static constexpr int running_max = 2;  // besides the one of who is known
  // How many of them are used on a host of so many cores (0: not known).
  static int running_on(unsigned cores) { return cores < 4 ? 1 : running_max; }

  // worker_slots: how many processes of the pool take part. lock_dir: where all pools of the host
  // have their files; without one that can be used the pool has them for itself, and is_alone().
  // running: 1 to running_max; less than 1: as many as this host's cores allow. Throws
  // internal_error when there is no memory.
  explicit PasswordPermits(int worker_slots, const std::string& lock_dir = "", int running = 0);
  ~PasswordPermits();
  PasswordPermits(const PasswordPermits&) = delete;
  PasswordPermits& operator=(const PasswordPermits&) = delete;

  bool is_alone() const { return is_alone_; }
  int running() const { return running_; }
  void begin_wait(int worker_slot, PasswordQueue queue) {
    waiters(worker_slot, queue).fetch_add(1);
  }
  void end_wait(int worker_slot, PasswordQueue queue) { waiters(worker_slot, queue).fetch_sub(1); }
  int waiting(int worker_slot) const;              // in all queues
  int waiting_in_pool(PasswordQueue queue) const;  // of all worker slots
  // Whether somebody of another queue goes before those of this one.
  bool must_yield(PasswordQueue queue) const;
  void note_turn(PasswordQueue queue) { memory_->last_turn.store(queue); }
  // When its process ended: forgets who waited with it.
  void clear(int worker_slot);

 private:
  friend class PasswordLocks;
  static constexpr int worker_slots_max = 256;
  using Waiters = std::array<std::atomic<int>, 3>;  // by queue
  struct Memory {
    std::array<Waiters, worker_slots_max> waiting;
    std::atomic<PasswordQueue> last_turn;  // of brief and patient
  };
  std::atomic<int>& waiters(int worker_slot, PasswordQueue queue) const {
    return memory_->waiting[static_cast<size_t>(worker_slot)][static_cast<size_t>(queue)];
  }

  Memory* memory_;
  int worker_slots_;
  int running_;
  bool is_alone_ = false;
  std::array<int, running_max + 1> files_;  // the last one: of who is known
};

// One per worker, made in it, because a lock belongs to the process that opened the file.
class PasswordLocks {
 public:
  // Throws internal_error when the files cannot be opened again.
  explicit PasswordLocks(const PasswordPermits& permits);
  ~PasswordLocks();
  PasswordLocks(const PasswordLocks&) = delete;
  PasswordLocks& operator=(const PasswordLocks&) = delete;

  // Both are false if as many are hashing as allowed. The holder of a permit returns it.
  bool take();
  void leave();
  // The permit of who is known.
  bool take_known();
  void leave_known();

 private:
  struct Lock {
    int fd = -1;
    bool is_locked = false;
    bool take();
    void leave();
  };
  std::vector<Lock> locks_;
  Lock known_;
};

}  // namespace hostler
