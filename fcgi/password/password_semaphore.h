// Permits for hashing a password: one per worker, at most two on a host (of all its pools; see
// fcgi/password/password_permits.h), in a process that yields to all others
// (fcgi/password/password_hasher.h): a flood of logins slows logins first. Beside them known users
// get one at a time, in a process of their own with normal priority. One per worker.
#pragma once

#include <string>

#include "fcgi/password/password_hasher.h"
#include "fcgi/password/password_permits.h"
#include "lib/account/password.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/wait.h"

namespace hostler {

class PasswordSemaphore {
 public:
  // permits outlives this; worker_slot: the worker's own. Forks, see PasswordHasher.
  PasswordSemaphore(loop::Loop& loop, PasswordPermits& permits, int worker_slot)
      : loop_(loop),
        strangers_{PasswordHasher(loop, strangers_niceness)},
        known_{PasswordHasher(loop, known_niceness)},
        permits_(permits),
        locks_(permits),
        worker_slot_(worker_slot) {}
  PasswordSemaphore(const PasswordSemaphore&) = delete;
  PasswordSemaphore& operator=(const PasswordSemaphore&) = delete;

  // Both throw overload_busy when the pool's queue is full, and when the hasher is lost. Logins are
  // shed in a flood; who is known, changes their password or registers is not, and waits.
  Task<std::string> hash(std::string password, PasswordQueue queue = PasswordQueue::patient);
  Task<account::PasswordCheck> check(std::string password, std::string stored,
                                     PasswordQueue queue = PasswordQueue::brief);

  // The same refusal, for who would do work before it comes to the password.
  void refuse_when_full(PasswordQueue queue) const;

  int waiting() const { return permits_.waiting(worker_slot_); }
  PasswordHasher& hasher() { return strangers_.hasher; }
  PasswordHasher& known_hasher() { return known_.hasher; }

  // A tenth of what others weigh: a machine that is full lets nobody wait for ever. Of who is known
  // one hash runs on the host: with less than a whole weight they would feel each flood threefold.
  static constexpr int strangers_niceness = 10;
  static constexpr int known_niceness = 0;
  static constexpr int known_waiting_max = 16;
  static constexpr int brief_waiting_max = 16;
  static constexpr int patient_waiting_max = 256;

 private:
  struct HasherSlot {
    PasswordHasher hasher;
    bool is_hashing = false;
  };
  class Permit;
  // Where the password is to be hashed now.
  Task<HasherSlot*> enter(PasswordQueue queue);
  Task<bool> next_left();

  // Returns nothing if as many are hashing as allowed.
  HasherSlot* take_permit(PasswordQueue queue);
  void leave(HasherSlot& slot);

  loop::Loop& loop_;
  HasherSlot strangers_;  // and of who is known, when theirs is busy
  HasherSlot known_;
  PasswordPermits& permits_;
  PasswordLocks locks_;
  const int worker_slot_;
  loop::Signal left_;
};

}  // namespace hostler
