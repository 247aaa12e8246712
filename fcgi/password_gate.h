// Password hashing on the thread pool, few at once: a storm of logins slows logins and nothing
// else.
#pragma once

#include <string>

#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/wait.h"
#include "lib/password.h"

namespace hostler {

class PasswordGate {
 public:
  explicit PasswordGate(Loop& loop) : loop_(loop) {}
  PasswordGate(const PasswordGate&) = delete;
  PasswordGate& operator=(const PasswordGate&) = delete;

  // Both throw overload_busy when 16 wait already.
  Task<std::string> hash(std::string password);
  Task<PasswordCheck> check(std::string password, std::string stored);

  int waiting() const { return waiting_; }

  static constexpr int running_max = 2;
  static constexpr int waiting_max = 16;

 private:
  class Place;
  Task<void> enter();

  Loop& loop_;
  Signal left_;
  int running_ = 0;
  int waiting_ = 0;
};

}  // namespace hostler
