// Locks taken, ids kept; see runner/access_log/lock_file.h.
#include "runner/access_log/lock_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "lib/crypto.h"

namespace hostler::runner {
namespace {

constexpr size_t id_bytes = 16;
constexpr size_t text_bytes_max = 512;

// Such a file does not outlive the boot, whatever the boot is called.
bool is_in_memory(int fd) {
  struct statfs found {};
  if (fstatfs(fd, &found) != 0) return false;
  return found.f_type == TMPFS_MAGIC || found.f_type == RAMFS_MAGIC;
}

std::string text_of(int fd) {
  std::string text(text_bytes_max, '\0');
  ssize_t got = pread(fd, text.data(), text.size(), 0);
  text.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return text;
}

}  // namespace

LockFile::~LockFile() {
  if (fd_ >= 0) close(fd_);
}

bool LockFile::take() {
  if (fd_ >= 0) return true;
  int fd = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) {
    fault_ = std::strerror(errno);
    return false;
  }
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    fault_ = errno == EWOULDBLOCK ? "" : std::strerror(errno);
    close(fd);
    return false;
  }
  fd_ = fd;
  read_or_make_id();
  return true;
}

// Text after the id in the file. On a disk without a name of the boot, nothing is sure.
std::string LockFile::bond() const {
  if (!boot_) return "-";
  struct stat found {};
  fstat(fd_, &found);
  std::string boot = *boot_;
  if (boot.empty()) boot = is_in_memory(fd_) ? "memory" : to_hex(random_bytes(id_bytes));
  return fmt::format("{} {}:{}", boot, found.st_dev, found.st_ino);
}

// A file that cannot be written works as well. A successor then does not know its id, and waits for
// leases.
void LockFile::read_or_make_id() {
  std::string end = fmt::format(" {}\n", bond());
  std::string text = text_of(fd_);
  std::string id = text.substr(0, 2 * id_bytes);
  bool is_known = text.size() == id.size() + end.size() && text.ends_with(end) &&
                  from_hex(id).value_or("").size() == id_bytes;
  if (!is_known) {
    id = to_hex(random_bytes(id_bytes));
    text = id + end;
    bool is_written = ftruncate(fd_, 0) == 0 &&
                      pwrite(fd_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
    static_cast<void>(is_written);
  }
  id_ = std::move(id);
  struct stat found {};
  fstat(fd_, &found);
  id_created_ns_ = found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec;
}

std::string boot_of_host() {
  std::string boot;
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return boot;
  boot = text_of(fd);
  close(fd);
  return boot.substr(0, boot.find('\n'));
}

}  // namespace hostler::runner
