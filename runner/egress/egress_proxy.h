// Where the pool's calls leave the host: a SOCKS proxy on the socket outbound.socket, which carries
// to the captcha's server and the mail server as they are configured now, and nowhere else. So the
// pool itself needs no network. One a daemon; of several with one socket, one has it, and another
// takes over when that one ends. Never looks into what it carries.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/config/secret_box.h"
#include "lib/config/stored_settings.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/postgres/database.h"
#include "runner/egress/socks_request.h"
#include "runner/egress/tunnel.h"

namespace hostler::runner {

struct EgressServices {
  loop::Loop& loop;
  postgres::Database& db;
  const config::SecretBox& secrets;
  config::StoredSettings& settings;
  std::function<void(EgressResult)> count;
};

class EgressProxy {
 public:
  // path: of the socket; empty: only one that the service manager handed over.
  EgressProxy(EgressServices services, std::string path);
  ~EgressProxy();
  EgressProxy(const EgressProxy&) = delete;
  EgressProxy& operator=(const EgressProxy&) = delete;

  // Opens the listener, or waits until the daemon that has it ends. Runs as a task of the daemon.
  Task<void> open_when_free();
  // The settings changed, so the destinations are read again before the next check.
  void look_at_settings() { destinations_known_ = false; }
  // Accepts no new call, and waits for those under way, at most that long.
  Task<void> close_listener(int64_t limit_ms);

  static constexpr size_t tunnels_max = 64;  // more wait in the socket

 private:
  bool try_to_open();
  void accept_some();
  void forget(Tunnel* tunnel);
  Task<Admission> check(SocksTarget target);
  Task<bool> read_destinations();
  bool is_destination(const SocksTarget& target) const;

  EgressServices services_;
  std::string path_;
  bool is_own_ = false;  // the socket's file goes with the daemon
  bool is_closed_ = false;
  OwnedFd listening_;
  std::unique_ptr<loop::FdWatch> watch_;
  loop::Timer accept_timer_;
  std::vector<SocksTarget> destinations_;
  bool destinations_known_ = false;
  std::string logged_fault_;  // why the listener is shut, as it was logged last
  Tunnel::Owner owner_;
  std::vector<std::unique_ptr<Tunnel>> tunnels_;
};

}  // namespace hostler::runner
