// The process in which a worker's passwords are hashed. It is a session of its own of little
// weight: a thread's niceness counts only among processes of its session (Linux' autogroups), so
// next to nginx and Postgres a hash inside the worker would weigh as much as they do. Asked by
// fcgi/password/password_semaphore.h, one password at a time; knows nothing of users.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "lib/account/password.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/wait.h"

namespace hostler {

class PasswordHasher {
 public:
  // Forks: before this process has threads. niceness: 0 to 19, how far it stands behind others.
  // Throws internal_error when it cannot.
  PasswordHasher(loop::Loop& loop, int niceness);
  // Ends the process, whatever it is at.
  ~PasswordHasher();
  PasswordHasher(const PasswordHasher&) = delete;
  PasswordHasher& operator=(const PasswordHasher&) = delete;

  // Both throw overload_busy when the process is lost or has no memory.
  Task<std::string> hash(std::string password);
  Task<account::PasswordCheck> check(std::string password, std::string stored);

  // Called once, when the process ended by itself: there will be no other.
  std::function<void()> on_exit;

  pid_t pid() const { return pid_; }

 private:
  // stored: the hash to check against; empty: a new one is made.
  Task<std::string> ask(std::string password, std::string stored);
  void read_answers();
  void note_exit();

  int socket_ = -1;
  pid_t pid_ = -1;
  std::optional<loop::FdWatch> watch_;
  uint32_t asked_ = 0;     // number of the newest question
  uint32_t answered_ = 0;  // and of the newest answer
  bool has_exited_ = false;
  std::string answer_;
  loop::Signal answered_signal_;
};

}  // namespace hostler
