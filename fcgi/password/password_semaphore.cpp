// Permits for password work; see fcgi/password/password_semaphore.h.
#include "fcgi/password/password_semaphore.h"

#include <utility>

#include "lib/error.h"

namespace hostler {

// A permit that was taken; the destructor gives it back, also when its request is cancelled.
class PasswordSemaphore::Permit {
 public:
  explicit Permit(PasswordSemaphore& semaphore) : semaphore_(semaphore) {}
  ~Permit() {
    semaphore_.is_hashing_ = false;
    semaphore_.locks_.leave();
    semaphore_.left_.notify();
  }
  Permit(const Permit&) = delete;
  Permit& operator=(const Permit&) = delete;

 private:
  PasswordSemaphore& semaphore_;
};

namespace {

// Nobody signals a permit that another process gave back: whoever waits looks again so often. A
// hash takes 15 to 40 ms.
constexpr int64_t look_again_ms = 10;

class Waiting {
 public:
  Waiting(PasswordPermits& permits, int worker_slot, PasswordQueue queue)
      : permits_(permits), worker_slot_(worker_slot), queue_(queue) {
    permits_.begin_wait(worker_slot_, queue_);
  }
  ~Waiting() { permits_.end_wait(worker_slot_, queue_); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  PasswordPermits& permits_;
  const int worker_slot_;
  const PasswordQueue queue_;
};

int waiting_max(PasswordQueue queue) {
  switch (queue) {
    case PasswordQueue::known:
      return PasswordSemaphore::known_waiting_max;
    case PasswordQueue::brief:
      return PasswordSemaphore::brief_waiting_max;
    case PasswordQueue::patient:
      break;
  }
  return PasswordSemaphore::patient_waiting_max;
}

}  // namespace

Task<bool> PasswordSemaphore::next_left() {
  co_await left_.wait();
  co_return true;
}

bool PasswordSemaphore::take_permit(PasswordQueue queue) {
  if (is_hashing_ || permits_.must_yield(queue) || !locks_.take()) return false;
  is_hashing_ = true;
  if (queue != PasswordQueue::known) permits_.note_turn(queue);
  return true;
}

void PasswordSemaphore::refuse_when_full(PasswordQueue queue) const {
  if (permits_.waiting_in_pool(queue) < waiting_max(queue)) return;
  Error error(ErrorCode::overload_busy, "Too many logins at once; try again in a second.");
  error.retry_after_s = 1;
  throw error;
}

Task<void> PasswordSemaphore::enter(PasswordQueue queue) {
  if (waiting() == 0 && take_permit(queue)) co_return;
  refuse_when_full(queue);
  Waiting waiting(permits_, worker_slot_, queue);
  while (!take_permit(queue)) {
    Task<bool> next = next_left();
    co_await loop::with_timeout(loop_, std::move(next), look_again_ms);
  }
}

Task<std::string> PasswordSemaphore::hash(std::string password, PasswordQueue queue) {
  co_await enter(queue);
  Permit permit(*this);
  std::string hashed = co_await hasher_.hash(std::move(password));
  co_return hashed;
}

Task<account::PasswordCheck> PasswordSemaphore::check(std::string password, std::string stored,
                                                      PasswordQueue queue) {
  co_await enter(queue);
  Permit permit(*this);
  account::PasswordCheck checked = co_await hasher_.check(std::move(password), std::move(stored));
  co_return checked;
}

}  // namespace hostler
