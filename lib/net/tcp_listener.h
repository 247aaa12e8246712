// TCP ports to listen on, for nginx on other hosts, and who may connect to them: FastCGI and SCGI
// believe what the peer says. Used by the pool's master and worker and by the relay.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/net/address_guard.h"

namespace hostler::net {

// 10.0.0.5:9101 or [fd00::5]:9101.
struct TcpEndpoint {
  IpAddress address;
  int port = 0;  // never 0

  static std::optional<TcpEndpoint> parse(std::string_view text);
  bool operator==(const TcpEndpoint&) const = default;
};

// A new socket there; listening, not blocking, closed on exec. Programs of one user may share an
// endpoint, as several pools or daemons of a host do. -1: the fault says why.
int listen_tcp(const TcpEndpoint& endpoint, std::string& fault);
// Returns the address at which a socket listens, or nothing for a socket of another kind than TCP.
std::optional<TcpEndpoint> endpoint_of_listener(int fd);

// The other end of a connection; nothing for a Unix socket and for one that is gone.
std::optional<IpAddress> peer_of(int fd);
// Small answers go out at once, and a peer that vanished is noticed.
void tune_connection(int fd);

}  // namespace hostler::net
