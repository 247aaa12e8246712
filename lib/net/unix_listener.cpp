// Unix sockets opened; see lib/net/unix_listener.h.
#include "lib/net/unix_listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "lib/error.h"

namespace hostler::net {
namespace {

std::string why_not(const std::string& path, const char* what) {
  return fmt::format("{}: {}: {}", path, what, strerror(errno));
}

// False, and the fault says why.
bool read_path(const std::string& path, sockaddr_un& address, std::string& fault) {
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    fault = fmt::format("the path of a socket has 1 to {} bytes: {}", sizeof address.sun_path - 1,
                        path);
    return false;
  }
  memcpy(address.sun_path, path.data(), path.size());
  return true;
}

// A file left behind by a process that was killed may go; a socket somebody listens on may not.
bool remove_stale(const std::string& path, const sockaddr_un& address, std::string& fault) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) return true;
  if (!S_ISSOCK(found.st_mode)) {
    fault = path + ": exists and is not a socket";
    return false;
  }
  int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int failed = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  bool is_alive = failed == 0 || errno == EAGAIN;
  close(probe);
  if (is_alive) {
    fault = path + ": another process listens there";
  } else {
    unlink(path.c_str());
  }
  return !is_alive;
}

}  // namespace

int try_listen_unix(const std::string& path, unsigned mode, std::string& fault) {
  sockaddr_un address{};
  if (!read_path(path, address, fault) || !remove_stale(path, address, fault)) return -1;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    fault = why_not(path, "socket");
    return -1;
  }
  // The mode is right from the first moment: nobody can connect between bind and chmod.
  mode_t before = umask(static_cast<mode_t>(~mode & 0777U));
  int failed = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  umask(before);
  if (failed == 0 && listen(fd, listen_backlog) == 0) return fd;
  fault = why_not(path, failed != 0 ? "bind" : "listen");
  close(fd);
  return -1;
}

int listen_unix(const std::string& path, unsigned mode) {
  std::string fault;
  int fd = try_listen_unix(path, mode, fault);
  if (fd < 0) throw Error(ErrorCode::internal_error, {}, fault);
  return fd;
}

}  // namespace hostler::net
