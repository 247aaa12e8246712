// A wall clock that jumps: preloaded into a program (LD_PRELOAD), it adds the seconds that stand in
// the file STEPPED_CLOCK, a 64-bit integer, to the time that the program gets. Monotonic time
// stays. For tests/system/host/clock_test.cpp; needs no library of ours.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

const std::atomic<int64_t>* step_s = nullptr;

[[gnu::constructor]] void find_step() {
  const char* path = std::getenv("STEPPED_CLOCK");
  int fd = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void* there = mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (there != MAP_FAILED) step_s = static_cast<const std::atomic<int64_t>*>(there);
}

timespec real_time(clockid_t id) {
  timespec now{};
  syscall(SYS_clock_gettime, id, &now);
  bool is_wall = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
  if (is_wall && step_s != nullptr) now.tv_sec += step_s->load();
  return now;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t id, timespec* reported) noexcept {
  *reported = real_time(id);
  return 0;
}

int gettimeofday(timeval* reported, void*) noexcept {
  timespec now = real_time(CLOCK_REALTIME);
  *reported = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* reported) noexcept {
  time_t now = real_time(CLOCK_REALTIME).tv_sec;
  if (reported != nullptr) *reported = now;
  return now;
}
}
