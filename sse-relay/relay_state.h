// The relay's inside: its loop, its clients and what happens to them. Included by relay*.cpp only.
// Everything here runs on the relay's thread, but for what is said to be told from others.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "lib/address_guard.h"
#include "lib/loop/db.h"
#include "lib/loop/denial_log.h"
#include "lib/loop/loop.h"
#include "lib/loop/stream.h"
#include "lib/loop/task_set.h"
#include "lib/loop/wait.h"
#include "sse-relay/channels.h"
#include "sse-relay/client.h"
#include "sse-relay/due_wheel.h"
#include "sse-relay/follow_run.h"
#include "sse-relay/gate.h"
#include "sse-relay/relay.h"

namespace hostler::relay {

class Relay::State final : public ClientEvents {
 public:
  State(RelayOptions options, EventFeed& feed);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void run();
  void stop() { stop_.ring(); }                          // from any thread
  int streams() const { return streams_.load(); }        // from any thread
  RelayCounts counts() const;                            // from any thread
  void allow_origins(std::vector<std::string> origins);  // from any thread
  void use_gateway(Gateway gateway);                     // from any thread

 private:
  // relay.cpp: one client's way.
  Task<void> advance(Client& client);
  void take_fault(Client& client, const Error& fault);
  void refuse(Client& client, const Error& error);
  void audit_denied(const Client& client, const Error& error);
  void arrived(Client& client, std::string_view bytes) override;
  void drained(Client& client) override;
  void closed(Client& client) override { destroy(client); }
  void start(Client& client);
  void settle(Client& client);
  void opened(Client& client);
  void end_early(Client& client);
  void destroy(Client& client);

  static void log_task_failure(const std::string& name, std::exception_ptr failure);

  // relay_state.cpp: all clients'.
  void open_port();
  bool admits_peer(int fd);
  void accept(std::unique_ptr<Stream> stream);
  void take_news();
  void tick();
  void announce_read();
  void look_at_silent_runs();
  void resume_stalled();
  void look_at(Client& client);
  void drain();
  void stop_when_done();
  void drain_client(Client& client);
  int64_t retry_ms();
  Origins cors_origins() const;
  std::shared_ptr<const Gateway> gateway() const;

  RelayOptions options_;
  EventFeed& feed_;
  Loop loop_;
  Database db_;
  Channels channels_;
  Gate gate_;
  FollowServices services_;
  DueWheel wheel_;
  Wakeup news_;
  Wakeup stop_;
  Timer ticks_;
  Timer drain_limit_;
  SharedBytes ping_;
  std::minstd_rand random_;
  std::unique_ptr<StreamListener> listener_;
  std::unique_ptr<StreamListener> port_;
  CidrList peers_;  // of the port
  int64_t refusal_told_ms_ = 0;
  Signal read_due_;
  bool is_read_announced_ = false;
  bool has_stalled_ = false;  // a stream could not read its next page
  bool is_draining_ = false;
  int64_t rechecked_ms_ = 0;
  int64_t looked_ms_ = 0;  // at runs nothing was heard of

  mutable std::mutex settings_lock_;  // of these two
  Origins origins_;
  std::shared_ptr<const Gateway> gateway_;  // null: nobody said yet

  std::vector<Client*> settled_;  // their tasks have ended and can be freed
  std::vector<std::unique_ptr<Client>> clients_;
  std::atomic<int> streams_ = 0;
  struct {
    std::atomic<int64_t> opened = 0;
    std::atomic<int64_t> refused = 0;
    std::atomic<int64_t> cut_off = 0;
    std::atomic<int64_t> peers_refused = 0;
    std::atomic<int64_t> denials_dropped = 0;
  } counts_;
  DenialLog denials_;
  TaskSet rounds_;  // first to go: looks at everything above
};

}  // namespace hostler::relay
