// Who may hash a password now: one of a worker, at most two on a host (of all its pools; see
// fcgi/password/password_permits.h), in a process that yields to all others
// (fcgi/password/password_hasher.h): a flood of logins slows logins first. One a worker.
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
      : loop_(loop), hasher_(loop), permits_(permits), locks_(permits), worker_slot_(worker_slot) {}
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
  PasswordHasher& hasher() { return hasher_; }

  static constexpr int known_waiting_max = 16;
  static constexpr int brief_waiting_max = 16;
  static constexpr int patient_waiting_max = 256;

 private:
  class Permit;
  Task<void> enter(PasswordQueue queue);
  Task<bool> next_left();

  bool take_permit(PasswordQueue queue);

  loop::Loop& loop_;
  PasswordHasher hasher_;
  PasswordPermits& permits_;
  PasswordLocks locks_;
  const int worker_slot_;
  bool is_hashing_ = false;
  loop::Signal left_;
};

}  // namespace hostler
