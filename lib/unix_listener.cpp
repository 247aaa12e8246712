// Unix sockets opened; see lib/unix_listener.h.
#include "lib/unix_listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "lib/error.h"

namespace hostler {
namespace {

Error cannot(const std::string& path, const char* what) {
  return Error(ErrorCode::internal_error, {},
               fmt::format("{}: {}: {}", path, what, strerror(errno)));
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    throw Error(ErrorCode::internal_error, {},
                fmt::format("the path of a socket has 1 to {} bytes: {}",
                            sizeof address.sun_path - 1, path));
  }
  memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// A file left behind by a process that was killed may go; a socket somebody listens on may not.
void remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) return;
  if (!S_ISSOCK(found.st_mode)) {
    throw Error(ErrorCode::internal_error, {}, path + ": exists and is not a socket");
  }
  int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int failed = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  bool is_alive = failed == 0 || errno == EAGAIN;
  close(probe);
  if (is_alive) {
    throw Error(ErrorCode::internal_error, {}, path + ": another process listens there");
  }
  unlink(path.c_str());
}

}  // namespace

int listen_unix(const std::string& path, unsigned mode) {
  sockaddr_un address = address_of(path);
  remove_stale(path, address);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) throw cannot(path, "socket");
  // The mode is right from the first moment: nobody can connect between bind and chmod.
  mode_t before = umask(static_cast<mode_t>(~mode & 0777U));
  int failed = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  umask(before);
  if (failed != 0) {
    Error error = cannot(path, "bind");
    close(fd);
    throw error;
  }
  if (listen(fd, listen_backlog) != 0) throw cannot(path, "listen");
  return fd;
}

}  // namespace hostler
