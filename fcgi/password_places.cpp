// Places by compare-and-swap; see fcgi/password_places.h.
#include "fcgi/password_places.h"

#include <sys/mman.h>

#include <cassert>

#include "lib/error.h"

namespace hostler {

PasswordPlaces::PasswordPlaces(int seats) : seats_(seats) {
  assert(seats > 0 && seats <= seats_max);
  void* memory =
      mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error(ErrorCode::internal_error, {}, "no shared memory");
  memory_ = static_cast<Memory*>(memory);  // zeros are free places
}

PasswordPlaces::~PasswordPlaces() { munmap(memory_, sizeof(Memory)); }

bool PasswordPlaces::take(int seat) {
  for (std::atomic<int>& holder : memory_->holders) {
    int nobody = 0;
    if (holder.compare_exchange_strong(nobody, seat + 1)) return true;
  }
  return false;
}

void PasswordPlaces::leave(int seat) {
  for (std::atomic<int>& holder : memory_->holders) {
    int mine = seat + 1;
    if (holder.compare_exchange_strong(mine, 0)) return;
  }
}

int PasswordPlaces::waiting_in_pool() const {
  int sum = 0;
  for (int seat = 0; seat < seats_; ++seat) sum += memory_->waiting[seat].load();
  return sum;
}

void PasswordPlaces::clear(int seat) {
  memory_->waiting[seat].store(0);
  for (int i = 0; i < running_max; ++i) leave(seat);
}

}  // namespace hostler
