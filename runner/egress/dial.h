// A TCP connection on the loop, for tunnels. Never checks where to.
#pragma once

#include <string>
#include <utility>

#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/net/address_guard.h"

namespace hostler::runner {

// A descriptor that is closed with its owner.
class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  ~OwnedFd();
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

struct Dialled {
  OwnedFd fd;     // not blocking; none: it failed
  int cause = 0;  // errno of the failure
};

// Waits at most so long; the cause is then ETIMEDOUT.
Task<Dialled> dial(loop::Loop& loop, net::IpAddress address, int port, int64_t limit_ms);

}  // namespace hostler::runner
