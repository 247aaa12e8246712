// Password hashing on the thread pool, at most two at once on a host (all pools of it together; see
// fcgi/password_places.h) and at a lower priority: a storm of logins slows logins and nothing else.
// One a worker.
#pragma once

#include <string>

#include "fcgi/password_places.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/wait.h"
#include "lib/password.h"

namespace hostler {

// How long the queue may be that a request joins. Logins are shed in a storm; who changes their
// password or registers is not, and waits.
enum class PasswordQueue { brief, patient };

class PasswordGate {
 public:
  // places outlive this; seat: the worker's.
  PasswordGate(Loop& loop, PasswordPlaces& places, int seat)
      : loop_(loop), places_(places), locks_(places), seat_(seat) {}
  PasswordGate(const PasswordGate&) = delete;
  PasswordGate& operator=(const PasswordGate&) = delete;

  // Both throw overload_busy when the pool's queue is full: 16 wait for a login, 256 for the rest.
  Task<std::string> hash(std::string password, PasswordQueue queue = PasswordQueue::patient);
  Task<PasswordCheck> check(std::string password, std::string stored,
                            PasswordQueue queue = PasswordQueue::brief);

  int waiting() const { return places_.waiting(seat_); }

  static constexpr int brief_waiting_max = 16;
  static constexpr int patient_waiting_max = 256;

 private:
  class Place;
  Task<void> enter(PasswordQueue queue);
  Task<bool> next_left();

  Loop& loop_;
  PasswordPlaces& places_;
  PasswordLocks locks_;
  const int seat_;
  Signal left_;
};

}  // namespace hostler
