// The two protocols of a service manager; see lib/program/service_notify.h.
#include "lib/program/service_notify.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace hostler::program {
namespace {

constexpr int first_handed_fd = 3;  // sd_listen_fds(3)

std::string_view variable(const char* name) {
  const char* text = getenv(name);
  return text == nullptr ? std::string_view() : text;
}

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Variables of a parent that another process was meant to read say nothing here.
bool is_meant(const char* pid_variable) {
  std::string_view pid = variable(pid_variable);
  return pid.empty() || number(pid) == getpid();
}

}  // namespace

void notify_service(std::string_view lines) {
  std::string_view path = variable("NOTIFY_SOCKET");
  sockaddr_un address{};
  if (path.size() < 2 || path.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.data(), path.size());
  if (path.front() == '@') address.sun_path[0] = '\0';  // the abstract name space
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  socklen_t length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  static_cast<void>(sendto(fd, lines.data(), lines.size(), MSG_NOSIGNAL,
                           reinterpret_cast<const sockaddr*>(&address), length));
  close(fd);
}

int64_t watchdog_interval_ms() {
  if (variable("NOTIFY_SOCKET").empty() || !is_meant("WATCHDOG_PID")) return 0;
  int64_t limit_us = number(variable("WATCHDOG_USEC")).value_or(0);
  return limit_us <= 0 ? 0 : (limit_us < 2'000 ? 1 : limit_us / 2'000);
}

int handed_listener(std::string_view name) {
  int64_t count = number(variable("LISTEN_FDS")).value_or(0);
  if (count <= 0 || !is_meant("LISTEN_PID")) return -1;
  std::string_view names = variable("LISTEN_FDNAMES");
  for (int i = 0; i < count; ++i) {
    size_t end = names.find(':');
    if (names.substr(0, end) == name) {
      int fd = first_handed_fd + i;
      fcntl(fd, F_SETFD, FD_CLOEXEC);
      fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
      return fd;
    }
    if (end == std::string_view::npos) break;
    names.remove_prefix(end + 1);
  }
  return -1;
}

}  // namespace hostler::program
