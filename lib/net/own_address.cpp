// The route to an address tells whose it is; see lib/net/own_address.h.
#include "lib/net/own_address.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <optional>

namespace hostler::net {
namespace {

sockaddr_storage socket_address(const IpAddress& address, socklen_t& size) {
  sockaddr_storage storage{};
  if (address.is_v4) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(9);  // any will do
    std::memcpy(&v4->sin_addr, address.bytes.data(), sizeof v4->sin_addr);
    size = sizeof *v4;
  } else {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(9);
    std::memcpy(&v6->sin6_addr, address.bytes.data(), sizeof v6->sin6_addr);
    size = sizeof *v6;
  }
  return storage;
}

}  // namespace

// Packets to an address of ours come from it. A connected datagram socket, which sends nothing,
// shows this without the netlink socket that a list of the interfaces would need.
bool is_own_address(const IpAddress& address) {
  int fd = socket(address.is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  socklen_t size = 0;
  sockaddr_storage there = socket_address(address, size);
  sockaddr_storage here{};
  socklen_t here_size = sizeof here;
  bool is_known = connect(fd, reinterpret_cast<const sockaddr*>(&there), size) == 0 &&
                  getsockname(fd, reinterpret_cast<sockaddr*>(&here), &here_size) == 0;
  close(fd);
  return is_known && IpAddress::from_socket(reinterpret_cast<const sockaddr*>(&here)) == address;
}

bool is_closed_port(const IpAddress& address, int port) {
  if (is_service_port(port)) return true;
  return port != 80 && port != 443 && is_own_address(address);
}

}  // namespace hostler::net
