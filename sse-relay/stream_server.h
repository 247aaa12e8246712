// Serves the event streams: nginx's SCGI connections on a Unix socket, with a loop and a database
// connection of its own, on a thread of its own. Joined to the daemon in runner/main.cpp; shares
// the event bus with it and nothing else. It never executes a run and never writes an event.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "lib/client/gateway.h"
#include "lib/events/event_bus.h"
#include "lib/loop/loop.h"
#include "lib/loop/stream.h"
#include "lib/net/peer_admission.h"
#include "lib/postgres/database.h"
#include "lib/postgres/denial_log.h"
#include "sse-relay/poller.h"
#include "sse-relay/semaphore.h"
#include "sse-relay/stream_client.h"
#include "sse-relay/stream_options.h"
#include "sse-relay/subscriptions.h"
#include "sse-relay/timer_wheel.h"

namespace hostler::relay {

// Since the start, but for streams.
struct StreamCounts {
  int streams;              // open now
  int64_t opened;           // streams
  int64_t refused;          // requests answered with a problem document
  int64_t cut_off;          // streams whose client did not read
  int64_t peers_refused;    // connections to the port
  int64_t denials_dropped;  // that the audit log does not name
  int64_t runs_gone_back;   // see Poller::runs_gone_back
};

class StreamServer final : StreamHost {
 public:
  // Opens the socket. Throws internal_error when that fails.
  StreamServer(StreamOptions options, events::EventBus& bus);
  ~StreamServer();
  StreamServer(const StreamServer&) = delete;
  StreamServer& operator=(const StreamServer&) = delete;

  // The thread's function: serves until stop() and the draining after it.
  void run();

  // From any thread, from here on.
  void stop() { stop_.notify(); }  // each stream gets a retry line and ends; may be called again
  int streams() const { return streams_.load(); }
  StreamCounts counts() const;
  void allow_origins(std::vector<std::string> cors_origins);
  void use_limits(const StreamLimits& limits) { open_streams_.use_limits(limits); }
  std::string full_holders(int64_t for_ms) const { return open_streams_.full_holders(for_ms); }
  // Says who clients are. Until it is called, every request is refused with 503: the stored
  // settings may identify a client differently than the file's.
  void use_gateway(client::Gateway gateway);

 private:
  bool is_crowded() const override;
  bool has_room_for(size_t unread_bytes) override;
  Origins cors_origins() const override;
  std::shared_ptr<const client::Gateway> gateway() const override;
  int64_t retry_ms() override;
  int64_t age_max_ms() override;
  void opened() override;
  void refused() override { ++counts_.refused; }
  void cut_off() override { ++counts_.cut_off; }
  void stalled() override { has_stalled_ = true; }
  void rested(StreamClient& client) override;
  void gone(StreamClient& client) override;

  void open_port();
  bool admits_peer(int fd);
  void accept(loop::Stream stream);
  void take_updates();
  void tick();
  void resume_stalled();
  size_t count_unread() const;
  void bound_unread();
  void drain();
  void stop_when_done();

  const StreamOptions options_;
  events::EventBus& bus_;
  loop::Loop loop_;
  Semaphore semaphore_;  // outlives the questions of db_, which keep its permits
  postgres::Database db_;
  Subscriptions subscriptions_;
  TimerWheel wheel_;
  struct {
    std::atomic<int64_t> opened = 0;
    std::atomic<int64_t> refused = 0;
    std::atomic<int64_t> cut_off = 0;
    std::atomic<int64_t> peers_refused = 0;
    std::atomic<int64_t> denials_dropped = 0;
  } counts_;
  postgres::DenialLog denials_;
  OpenStreams open_streams_;
  StreamServices services_;
  loop::Wakeup updates_;
  loop::Wakeup stop_;
  loop::Timer ticks_;
  loop::Timer drain_limit_;
  std::minstd_rand random_;
  std::unique_ptr<loop::StreamListener> listener_;
  std::unique_ptr<loop::StreamListener> port_;
  std::optional<net::PeerAdmission> peers_;  // of the port
  size_t unread_bytes_ = 0;                  // as of the last tick, and what came since
  bool has_stalled_ = false;                 // a stream could not read its next page
  bool is_draining_ = false;

  mutable std::mutex settings_lock_;  // of these two
  Origins origins_;
  std::shared_ptr<const client::Gateway> gateway_;

  std::vector<StreamClient*> rested_;  // their tasks have ended and can be freed
  StreamClients clients_;
  std::atomic<int> streams_ = 0;
  Poller poller_;  // first to go: looks at everything above
};

}  // namespace hostler::relay
