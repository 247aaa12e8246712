// Places for password work; see fcgi/password/password_gate.h.
#include "fcgi/password/password_gate.h"

#include <utility>

#include "lib/error.h"

namespace hostler {

// A place that was taken, left by the destructor, also when its request is cancelled.
class PasswordGate::Place {
 public:
  explicit Place(PasswordGate& gate) : gate_(gate) {}
  ~Place() {
    gate_.is_hashing_ = false;
    gate_.locks_.leave();
    gate_.left_.notify();
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  PasswordGate& gate_;
};

namespace {

// A place that another process left is not signalled: who waits looks again so often. A hash takes
// 15 to 40 ms.
constexpr int64_t look_again_ms = 10;

class Waiting {
 public:
  Waiting(PasswordPlaces& places, int seat) : places_(places), seat_(seat) {
    places_.begin_wait(seat_);
  }
  ~Waiting() { places_.end_wait(seat_); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  PasswordPlaces& places_;
  const int seat_;
};

}  // namespace

Task<bool> PasswordGate::next_left() {
  co_await left_.wait();
  co_return true;
}

bool PasswordGate::take_place() {
  if (is_hashing_ || !locks_.take()) return false;
  is_hashing_ = true;
  return true;
}

void PasswordGate::refuse_when_full(PasswordQueue queue) const {
  int most = queue == PasswordQueue::brief ? brief_waiting_max : patient_waiting_max;
  if (places_.waiting_in_pool() < most) return;
  Error error(ErrorCode::overload_busy, "Too many logins at once; try again in a second.");
  error.retry_after_s = 1;
  throw error;
}

Task<void> PasswordGate::enter(PasswordQueue queue) {
  if (waiting() == 0 && take_place()) co_return;
  refuse_when_full(queue);
  Waiting waiting(places_, seat_);
  while (!take_place()) {
    Task<bool> next = next_left();
    co_await loop::with_timeout(loop_, std::move(next), look_again_ms);
  }
}

Task<std::string> PasswordGate::hash(std::string password, PasswordQueue queue) {
  co_await enter(queue);
  Place place(*this);
  std::string hashed = co_await hasher_.hash(std::move(password));
  co_return hashed;
}

Task<account::PasswordCheck> PasswordGate::check(std::string password, std::string stored,
                                                 PasswordQueue queue) {
  co_await enter(queue);
  Place place(*this);
  account::PasswordCheck checked = co_await hasher_.check(std::move(password), std::move(stored));
  co_return checked;
}

}  // namespace hostler
