// See lib/net/peer_admission.h.
#include "lib/net/peer_admission.h"

#include <optional>
#include <utility>

#include "lib/log.h"
#include "lib/net/tcp_listener.h"

namespace hostler::net {
namespace {

constexpr int64_t log_every_ms = 1000;

}  // namespace

PeerAdmission::PeerAdmission(CidrList admitted, std::string setting)
    : admitted_(std::move(admitted)), setting_(std::move(setting)), logged_ms_(-log_every_ms) {}

bool PeerAdmission::admits(int fd, int64_t now_ms) {
  std::optional<IpAddress> peer = peer_of(fd);
  if (peer && admitted_.contains(*peer)) {
    tune_connection(fd);
    return true;
  }
  log_refusal(peer ? peer->text() : "gone", now_ms);
  return false;
}

void PeerAdmission::log_refusal(const std::string& peer, int64_t now_ms) {
  if (now_ms - logged_ms_ < log_every_ms) return;
  logged_ms_ = now_ms;
  log_warning("peer_refused", {{"peer", peer}, {"why", setting_ + " does not name it"}});
}

}  // namespace hostler::net
