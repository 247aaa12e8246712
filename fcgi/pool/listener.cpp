// The pool's socket found or opened; see fcgi/pool/listener.h.
#include "fcgi/pool/listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "lib/error.h"
#include "lib/log.h"
#include "lib/net/tcp_listener.h"
#include "lib/net/unix_listener.h"
#include "lib/program/service_notify.h"

namespace hostler {
namespace {

bool is_listening(int fd) {
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value != 0;
}

}  // namespace

Listener open_listener(const std::string& path) {
  int handed = program::handed_listener("api");
  if (handed >= 0) return {handed, {}};
  if (is_listening(STDIN_FILENO)) {
    fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
    return {STDIN_FILENO, {}};
  }
  return {net::listen_unix(path, 0660), path};
}

void open_port(const std::string& setting, bool is_reload, Listener& listener) {
  std::optional<net::TcpEndpoint> wanted = net::TcpEndpoint::parse(setting);
  if (listener.tcp_fd >= 0 && wanted && net::endpoint_of_listener(listener.tcp_fd) == wanted)
    return;
  if (listener.tcp_fd >= 0) close(std::exchange(listener.tcp_fd, -1));
  if (!wanted) return;
  std::string fault;
  listener.tcp_fd = net::listen_tcp(*wanted, fault);
  if (listener.tcp_fd >= 0) return;
  if (!is_reload) throw Error(ErrorCode::internal_error, {}, "api.listen_tcp: " + fault);
  log_error("port_shut", {{"api.listen_tcp", setting}, {"cause", fault}});
}

}  // namespace hostler
