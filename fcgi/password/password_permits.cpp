// Permits by file locks; see fcgi/password/password_permits.h.
#include "fcgi/password/password_permits.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <thread>

#include <fmt/format.h>

#include "lib/error.h"

namespace hostler {
namespace {

// Returns -1 if the folder is not ours.
int open_permit(const std::string& lock_dir, int number) {
  if (lock_dir.empty()) return -1;
  std::string path = fmt::format("{}/password-{}.lock", lock_dir, number);
  return open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

// A lock that was inherited over a fork is one lock for all; opened again it is our own.
int open_again(int file) {
  std::string path = fmt::format("/proc/self/fd/{}", file);
  int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) throw Error(ErrorCode::internal_error, {}, path + " cannot be opened");
  return fd;
}

}  // namespace

PasswordPermits::PasswordPermits(int worker_slots, const std::string& lock_dir, int running)
    : worker_slots_(worker_slots),
      running_(running < 1 ? running_on(std::thread::hardware_concurrency()) : running) {
  assert(worker_slots > 0 && worker_slots <= worker_slots_max);
  assert(running_ <= running_max);
  void* memory =
      mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error(ErrorCode::internal_error, {}, "no shared memory");
  memory_ = static_cast<Memory*>(memory);
  for (size_t i = 0; i < files_.size(); ++i) {
    int& file = files_[i];
    file = open_permit(lock_dir, static_cast<int>(i) + 1);
    if (file >= 0) continue;
    is_alone_ = true;
    file = memfd_create("password", MFD_CLOEXEC);
    if (file < 0) throw Error(ErrorCode::internal_error, {}, "no memory for a lock");
  }
}

PasswordPermits::~PasswordPermits() {
  munmap(memory_, sizeof(Memory));
  for (int file : files_) close(file);
}

int PasswordPermits::waiting(int worker_slot) const {
  int sum = 0;
  for (const std::atomic<int>& count : memory_->waiting[static_cast<size_t>(worker_slot)])
    sum += count.load();
  return sum;
}

int PasswordPermits::waiting_in_pool(PasswordQueue queue) const {
  int sum = 0;
  for (int worker_slot = 0; worker_slot < worker_slots_; ++worker_slot)
    sum += waiters(worker_slot, queue).load();
  return sum;
}

bool PasswordPermits::must_yield(PasswordQueue queue) const {
  if (queue == PasswordQueue::known) return false;
  if (waiting_in_pool(PasswordQueue::known) > 0) return true;
  if (memory_->last_turn.load() != queue) return false;
  bool is_brief = queue == PasswordQueue::brief;
  return waiting_in_pool(is_brief ? PasswordQueue::patient : PasswordQueue::brief) > 0;
}

void PasswordPermits::clear(int worker_slot) {
  for (std::atomic<int>& count : memory_->waiting[static_cast<size_t>(worker_slot)]) count.store(0);
}

PasswordLocks::PasswordLocks(const PasswordPermits& permits)
    : locks_(static_cast<size_t>(permits.running())) {
  for (size_t i = 0; i < locks_.size(); ++i) locks_[i].fd = open_again(permits.files_[i]);
  known_.fd = open_again(permits.files_.back());
}

PasswordLocks::~PasswordLocks() {
  for (const Lock& lock : locks_) close(lock.fd);
  close(known_.fd);
}

bool PasswordLocks::Lock::take() {
  if (is_locked || flock(fd, LOCK_EX | LOCK_NB) != 0) return false;
  is_locked = true;
  return true;
}

void PasswordLocks::Lock::leave() {
  if (is_locked) flock(fd, LOCK_UN);
  is_locked = false;
}

bool PasswordLocks::take() {
  return std::any_of(locks_.begin(), locks_.end(), [](Lock& lock) { return lock.take(); });
}

void PasswordLocks::leave() {
  auto lock = std::find_if(locks_.begin(), locks_.end(),
                           [](const Lock& candidate) { return candidate.is_locked; });
  if (lock != locks_.end()) lock->leave();
}

bool PasswordLocks::take_known() { return known_.take(); }

void PasswordLocks::leave_known() { known_.leave(); }

}  // namespace hostler
