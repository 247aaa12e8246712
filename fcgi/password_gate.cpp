// Places for password work; see fcgi/password_gate.h.
#include "fcgi/password_gate.h"

#include <utility>

#include "lib/error.h"

namespace hostler {

// A place that was taken, left by the destructor, also when its request is cancelled.
class PasswordGate::Place {
 public:
  explicit Place(PasswordGate& gate) : gate_(gate) {}
  ~Place() {
    --gate_.running_;
    gate_.left_.notify();
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  PasswordGate& gate_;
};

namespace {

class Counted {
 public:
  explicit Counted(int& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  int& count_;
};

}  // namespace

Task<void> PasswordGate::enter() {
  if (running_ >= running_max) {
    if (waiting_ >= waiting_max) {
      Error error(ErrorCode::overload_busy, "Too many logins at once; try again in a second.");
      error.retry_after_s = 1;
      throw error;
    }
    Counted counted(waiting_);
    while (running_ >= running_max) {
      co_await left_.wait();
    }
  }
  ++running_;
}

Task<std::string> PasswordGate::hash(std::string password) {
  co_await enter();
  Place place(*this);
  std::function<std::string()> work = [password = std::move(password)] {
    return hash_password(password);
  };
  std::string hashed = co_await on_thread(loop_, std::move(work));
  co_return hashed;
}

Task<PasswordCheck> PasswordGate::check(std::string password, std::string stored) {
  co_await enter();
  Place place(*this);
  std::function<PasswordCheck()> work = [password = std::move(password),
                                         stored = std::move(stored)] {
    return check_password(password, stored);
  };
  PasswordCheck checked = co_await on_thread(loop_, std::move(work));
  co_return checked;
}

}  // namespace hostler
