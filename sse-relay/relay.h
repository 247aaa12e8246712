// Serves the event streams: nginx's SCGI connections on a Unix socket, with a loop and a database
// connection of its own, on a thread of its own. Joined to the daemon in runner/main.cpp; shares
// the event feed with it and nothing else. It never executes a run and never writes an event.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/event_feed.h"
#include "lib/gateway.h"
#include "lib/settings.h"

namespace hostler::relay {

struct RelayOptions {
  std::string socket_path;  // made anew
  std::string listen_tcp;   // address:port of a private network; empty: none
  std::vector<std::string> tcp_peers;
  std::string conninfo;
  int clients_max = 20'000;  // open streams; more are told 503
  std::vector<std::string> cors_origins;

  // Moments. Each is kept to within a tick.
  int64_t tick_ms = 1'000;
  int64_t head_limit_ms = 10'000;      // for the request to arrive
  int64_t ping_after_ms = 15'000;      // of silence
  int64_t standstill_max_ms = 30'000;  // without progress, with something to write
  int64_t recheck_every_ms = 3'500;    // whether everybody may still follow: 5 s with a tick
  int64_t look_alone_ms = 1'000;       // at runs nothing was heard of, while nothing notifies
  int64_t look_anyway_ms = 30'000;     // likewise, when notifications arrive
  int64_t drain_limit_ms = 5'000;      // for the last bytes, at the end
};

// Since the start, but for streams.
struct RelayCounts {
  int streams;              // open now
  int64_t opened;           // streams
  int64_t refused;          // requests answered with a problem document
  int64_t cut_off;          // streams whose client did not read
  int64_t peers_refused;    // connections to the port
  int64_t denials_dropped;  // that the audit log does not name
};

RelayOptions relay_options(const Settings& start);

class Relay {
 public:
  // Opens the socket. Throws internal_error when that fails.
  Relay(RelayOptions options, EventFeed& feed);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // The thread's function: serves until stop() and the draining after it.
  void run();

  // From any thread, from here on.
  void stop();  // each stream gets a retry line and ends; may be called again
  int streams() const;
  RelayCounts counts() const;
  void allow_origins(std::vector<std::string> cors_origins);
  // Who clients are. Until it is told, every request is refused with 503: the stored settings may
  // make another client of it than the file's.
  void use_gateway(Gateway gateway);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace hostler::relay
