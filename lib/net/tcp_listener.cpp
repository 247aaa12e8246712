// See lib/net/tcp_listener.h.
#include "lib/net/tcp_listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "lib/net/unix_listener.h"

namespace hostler::net {
namespace {

constexpr int keepalive_after_s = 60;

socklen_t fill(const TcpEndpoint& endpoint, sockaddr_storage& storage) {
  uint16_t port = htons(static_cast<uint16_t>(endpoint.port));
  if (endpoint.address.is_v4) {
    sockaddr_in* to = reinterpret_cast<sockaddr_in*>(&storage);
    to->sin_family = AF_INET;
    to->sin_port = port;
    std::memcpy(&to->sin_addr, endpoint.address.bytes.data(), sizeof to->sin_addr);
    return sizeof *to;
  }
  sockaddr_in6* to = reinterpret_cast<sockaddr_in6*>(&storage);
  to->sin6_family = AF_INET6;
  to->sin6_port = port;
  std::memcpy(&to->sin6_addr, endpoint.address.bytes.data(), sizeof to->sin6_addr);
  return sizeof *to;
}

void set_option(int fd, int level, int name, int value) {
  setsockopt(fd, level, name, &value, sizeof value);
}

}  // namespace

std::optional<TcpEndpoint> TcpEndpoint::parse(std::string_view text) {
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  std::string_view digits = text.substr(colon + 1);
  TcpEndpoint endpoint;
  auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), endpoint.port);
  bool is_port = fault == std::errc() && end == digits.data() + digits.size() &&
                 endpoint.port > 0 && endpoint.port <= 65535;
  bool has_brackets = host.starts_with('[') && host.ends_with(']');
  std::optional<IpAddress> address = IpAddress::parse(host);
  if (!is_port || !address || address->is_v4 == has_brackets) return std::nullopt;
  endpoint.address = *address;
  return endpoint;
}

int listen_tcp(const TcpEndpoint& endpoint, std::string& fault) {
  int family = endpoint.address.is_v4 ? AF_INET : AF_INET6;
  int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_storage address{};
  socklen_t length = fill(endpoint, address);
  if (fd >= 0) {
    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    // Peers of IPv4 keep their address, so that one list of peers says it all.
    if (family == AF_INET6) set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    bool is_listening = bind(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0 &&
                        listen(fd, listen_backlog) == 0;
    if (is_listening) return fd;
  }
  fault = fmt::format("{} port {}: {}", endpoint.address.text(), endpoint.port, strerror(errno));
  if (fd >= 0) close(fd);
  return -1;
}

std::optional<TcpEndpoint> endpoint_of_listener(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return std::nullopt;
  std::optional<IpAddress> address =
      IpAddress::from_socket(reinterpret_cast<const sockaddr*>(&storage));
  if (!address) return std::nullopt;
  uint16_t port = address->is_v4 ? reinterpret_cast<const sockaddr_in*>(&storage)->sin_port
                                 : reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port;
  return TcpEndpoint{*address, ntohs(port)};
}

std::optional<IpAddress> peer_of(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return std::nullopt;
  return IpAddress::from_socket(reinterpret_cast<const sockaddr*>(&storage));
}

void tune_connection(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, keepalive_after_s);
}

}  // namespace hostler::net
