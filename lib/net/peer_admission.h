// Decides who may connect to a TCP port of ours. FastCGI and SCGI believe the peer, so only peers
// that a setting names are admitted. Refusals are logged at most once a second. Used by the pool's
// workers and by the stream server.
#pragma once

#include <cstdint>
#include <string>

#include "lib/net/address_guard.h"

namespace hostler::net {

class PeerAdmission {
 public:
  // setting: the one that names them, for the log.
  PeerAdmission(CidrList admitted, std::string setting);

  // Whether an accepted connection may stay; then it is tuned (lib/net/tcp_listener.h).
  bool admits(int fd, int64_t now_ms);

 private:
  void log_refusal(const std::string& peer, int64_t now_ms);

  CidrList admitted_;
  std::string setting_;
  int64_t logged_ms_;
};

}  // namespace hostler::net
