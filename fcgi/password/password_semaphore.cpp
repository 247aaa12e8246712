// Permits for password work; see fcgi/password/password_semaphore.h.
#include "fcgi/password/password_semaphore.h"

#include <utility>

#include "lib/error.h"

namespace hostler {

// A permit that was taken; the destructor gives it back, also when its request is cancelled.
class PasswordSemaphore::Permit {
 public:
  Permit(PasswordSemaphore& semaphore, HasherSlot& slot) : semaphore_(semaphore), slot_(slot) {}
  ~Permit() { semaphore_.leave(slot_); }
  Permit(const Permit&) = delete;
  Permit& operator=(const Permit&) = delete;

 private:
  PasswordSemaphore& semaphore_;
  HasherSlot& slot_;
};

namespace {

// Nobody signals a permit that another process returned, so a waiter looks again at this interval.
// A hash takes 15 to 40 ms.
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

PasswordSemaphore::HasherSlot* PasswordSemaphore::take_permit(PasswordQueue queue) {
  bool is_known = queue == PasswordQueue::known;
  if (is_known && !known_.is_hashing && locks_.take_known()) {
    known_.is_hashing = true;
    return &known_;
  }
  if (strangers_.is_hashing || permits_.must_yield(queue) || !locks_.take()) return nullptr;
  strangers_.is_hashing = true;
  if (!is_known) permits_.note_turn(queue);
  return &strangers_;
}

void PasswordSemaphore::leave(HasherSlot& slot) {
  slot.is_hashing = false;
  if (&slot == &known_) {
    locks_.leave_known();
  } else {
    locks_.leave();
  }
  left_.notify();
}

void PasswordSemaphore::refuse_when_full(PasswordQueue queue) const {
  if (permits_.waiting_in_pool(queue) < waiting_max(queue)) return;
  Error error(ErrorCode::overload_busy, "Too many logins at once; try again in a second.");
  error.retry_after_s = 1;
  throw error;
}

Task<PasswordSemaphore::HasherSlot*> PasswordSemaphore::enter(PasswordQueue queue) {
  bool is_known = queue == PasswordQueue::known;
  bool is_next = is_known ? permits_.waiting_in_pool(queue) == 0 : waiting() == 0;
  HasherSlot* slot = is_next ? take_permit(queue) : nullptr;
  if (slot != nullptr) co_return slot;
  refuse_when_full(queue);
  Waiting waiting(permits_, worker_slot_, queue);
  while ((slot = take_permit(queue)) == nullptr) {
    Task<bool> next = next_left();
    co_await loop::with_timeout(loop_, std::move(next), look_again_ms);
  }
  co_return slot;
}

Task<std::string> PasswordSemaphore::hash(std::string password, PasswordQueue queue) {
  HasherSlot* slot = co_await enter(queue);
  Permit permit(*this, *slot);
  std::string hashed = co_await slot->hasher.hash(std::move(password));
  co_return hashed;
}

Task<account::PasswordCheck> PasswordSemaphore::check(std::string password, std::string stored,
                                                      PasswordQueue queue) {
  HasherSlot* slot = co_await enter(queue);
  Permit permit(*this, *slot);
  account::PasswordCheck checked =
      co_await slot->hasher.check(std::move(password), std::move(stored));
  co_return checked;
}

}  // namespace hostler
