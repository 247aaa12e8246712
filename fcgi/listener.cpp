// The pool's socket found or opened; see fcgi/listener.h.
#include "fcgi/listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/service_notify.h"
#include "lib/unix_listener.h"

namespace hostler {
namespace {

bool is_listening(int fd) {
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value != 0;
}

}  // namespace

Listener open_listener(const std::string& path) {
  int handed = handed_listener("api");
  if (handed >= 0) return {handed, {}};
  if (is_listening(STDIN_FILENO)) {
    fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
    return {STDIN_FILENO, {}};
  }
  return {listen_unix(path, 0660), path};
}

}  // namespace hostler
