// Connects without blocking; see runner/egress/dial.h.
#include "runner/egress/dial.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lib/loop/wait.h"

namespace hostler::runner {
namespace {

// False: the limit passed first.
Task<bool> until_writable(loop::Loop& loop, int fd, int64_t limit_ms) {
  loop::Signal ready;
  loop::FdWatch watch(loop, fd, [&ready](bool, bool) { ready.notify(); });
  watch.watch(false, true);
  bool is_writable = co_await ready.wait_for(loop, limit_ms);
  co_return is_writable;
}

int begin_connect(int fd, const net::IpAddress& address, int port) {
  sockaddr_storage storage{};
  socklen_t length = 0;
  if (address.is_v4) {
    sockaddr_in* to = reinterpret_cast<sockaddr_in*>(&storage);
    to->sin_family = AF_INET;
    to->sin_port = htons(static_cast<uint16_t>(port));
    std::memcpy(&to->sin_addr, address.bytes.data(), sizeof to->sin_addr);
    length = sizeof *to;
  } else {
    sockaddr_in6* to = reinterpret_cast<sockaddr_in6*>(&storage);
    to->sin6_family = AF_INET6;
    to->sin6_port = htons(static_cast<uint16_t>(port));
    std::memcpy(&to->sin6_addr, address.bytes.data(), sizeof to->sin6_addr);
    length = sizeof *to;
  }
  return connect(fd, reinterpret_cast<const sockaddr*>(&storage), length) == 0 ? 0 : errno;
}

}  // namespace

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) close(fd_);
}

Task<Dialled> dial(loop::Loop& loop, net::IpAddress address, int port, int64_t limit_ms) {
  Dialled dialled;
  int family = address.is_v4 ? AF_INET : AF_INET6;
  OwnedFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) {
    dialled.cause = errno;
    co_return dialled;
  }
  dialled.cause = begin_connect(fd.get(), address, port);
  if (dialled.cause == EINPROGRESS) {
    bool in_time = co_await until_writable(loop, fd.get(), limit_ms);
    socklen_t length = sizeof dialled.cause;
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &dialled.cause, &length);
    if (!in_time) dialled.cause = ETIMEDOUT;
  }
  if (dialled.cause != 0) co_return dialled;
  int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  dialled.fd = std::move(fd);
  co_return dialled;
}

}  // namespace hostler::runner
