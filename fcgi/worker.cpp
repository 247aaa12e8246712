// FastCGI requests on the loop; see fcgi/worker.h.
#include "fcgi/worker.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "fcgi/connection.h"
#include "fcgi/dispatch.h"
#include "fcgi/further_pieces.h"
#include "fcgi/response_head.h"
#include "fcgi/worker_parts.h"
#include "lib/http/logged_path.h"
#include "lib/log.h"
#include "lib/loop/loop.h"
#include "lib/loop/wait.h"
#include "lib/net/tcp_listener.h"

namespace hostler {
namespace {

constexpr size_t in_flight_max = 512;
constexpr int accepts_per_turn = 16;
// Connections that wait for nginx' next request, beside those in flight.
constexpr size_t kept_max = 128;
// libfcgi's select() needs descriptors below 1024.
constexpr rlim_t descriptors_max = 1000;
constexpr int64_t accept_pause_ms = 50;
constexpr int64_t heartbeat_every_ms = 250;
// Shorter than the 25 s within which every program ends after SIGTERM.
constexpr int64_t drain_limit_ms = 20'000;
constexpr timeval peer_limit{.tv_sec = 2, .tv_usec = 0};
constexpr int64_t refusal_logged_every_us = 1'000'000;
// Maximum that is read of a body while all other requests of the worker wait. A socket holds some
// 200 KiB; the rest of a longer one comes as fast as nginx finds a core.
constexpr int64_t body_at_once_bytes = 96 << 10;

// One connection and its request in flight, used again and again.
struct Slot : std::enable_shared_from_this<Slot> {
  explicit Slot(int listen_fd) : connection(listen_fd) {}
  Connection connection;
  std::optional<Request> request;  // none: the connection is kept, or there is none
  Task<void> task;
  int64_t begun_us = 0;
  bool may_be_kept = false;
  std::unique_ptr<loop::FdWatch> watch;  // of a connection that was kept
};

// One of the sockets that all workers take connections from.
struct Listener {
  Listener(loop::Loop& loop, int listening, loop::FdWatch::Action action)
      : fd(listening), watch(loop, listening, std::move(action)) {}
  int fd;
  loop::FdWatch watch;
};

class Worker {
 public:
  Worker(const config::Settings& settings, const config::SecretBox& secret_box,
         const client::RiskyNetworks& risky_networks, SharedPool& shared,
         const WorkerContext& context);
  void run() { loop_.run(); }

 private:
  void accept_some(Listener& listener);
  bool accept_one(Listener& listener);
  int take_peer(const Listener& listener, Connection& connection);
  void refuse_peer(const std::optional<net::IpAddress>& peer);
  void watch_listeners(bool watches);
  void pause_accepting();
  void begin(Slot& slot);
  Task<void> read_on_thread(Slot& slot);
  Task<void> serve(Slot& slot);
  void write(Slot& slot, const Answered& answered);
  void count(const Slot& slot, const Answered& answered);
  void finish(Slot& slot);
  void go_on(Slot& slot);
  void take_next(Slot& slot, bool keeps);
  void end_kept();
  void release(Slot& slot);
  void heartbeat();
  void drain();
  void stop_when_idle();
  bool is_full() const { return in_flight_ >= in_flight_max; }

  WorkerContext context_;
  WorkerSlot& worker_slot_;
  loop::Loop loop_;
  WorkerParts parts_;
  std::vector<std::shared_ptr<Slot>> slots_;
  std::vector<Slot*> free_;
  size_t in_flight_ = 0;
  size_t kept_ = 0;  // connections without a request
  bool is_draining_ = false;
  int64_t heartbeat_due_us_ = 0;
  int64_t sessions_counted_ = 0;
  net::CidrList peers_;  // of the port
  int64_t refusal_logged_us_ = 0;
  Listener socket_;
  std::optional<Listener> port_;
  loop::FdWatch drain_pipe_;
  loop::Timer heartbeat_timer_;
  loop::Timer accept_timer_;
  loop::Timer drain_timer_;
};

Worker::Worker(const config::Settings& settings, const config::SecretBox& secret_box,
               const client::RiskyNetworks& risky_networks, SharedPool& shared,
               const WorkerContext& context)
    : context_(context),
      worker_slot_(shared.worker_slots[context.slot_number]),
      parts_(loop_, settings, secret_box, shared, context.slot_number, risky_networks),
      peers_(net::CidrList::parse(settings.strings("api.tcp_peers")).value_or(net::CidrList())),
      socket_(loop_, context.listen_fd, [this](bool, bool) { accept_some(socket_); }),
      drain_pipe_(loop_, context.drain_fd, [this](bool, bool) { drain(); }),
      heartbeat_timer_(loop_, [this] { heartbeat(); }),
      accept_timer_(loop_, [this] { watch_listeners(true); }),
      drain_timer_(loop_, [this] { loop_.stop(); }) {
  if (context.tcp_fd >= 0) {
    port_.emplace(loop_, context.tcp_fd, [this](bool, bool) { accept_some(*port_); });
  }
  // The master replaces a worker that leaves.
  parts_.passwords.hasher().on_exit = [this] { drain(); };
  parts_.passwords.known_hasher().on_exit = [this] { drain(); };
  watch_listeners(true);
  drain_pipe_.watch(true, false);
  const MetricsWriter& metrics = parts_.metrics;
  metrics.set(metric_workers, 0, 1);
  metrics.set(metric_build, 0, 1);
  metrics.set(metric_in_flight_max, 0, static_cast<int64_t>(in_flight_max));
  metrics.set(metric_dedicated_connections_max, 0, parts_.database.dedicated_max());
  heartbeat();
  worker_slot_.is_serving.store(true);
}

void Worker::heartbeat() {
  int64_t now_us = monotonic_us();
  worker_slot_.heartbeat_ms.store(now_us / 1000, std::memory_order_relaxed);
  const MetricsWriter& metrics = parts_.metrics;
  if (heartbeat_due_us_ > 0)
    metrics.set(metric_loop_lag_us, 0, std::max(now_us - heartbeat_due_us_, 0L));
  metrics.set(metric_in_flight, 0, static_cast<int64_t>(in_flight_));
  metrics.set(metric_password_waiting, 0, parts_.passwords.waiting());
  metrics.set(metric_dedicated_connections, 0, parts_.database.dedicated_busy());
  metrics.set(metric_dedicated_waiting, 0, parts_.database.dedicated_waiting());
  int64_t sessions = parts_.database.sessions_begun();
  metrics.count(metric_database_sessions, 0, sessions - sessions_counted_);
  sessions_counted_ = sessions;
  for (const auto& [version, wraps] : parts_.secret_box.take_wraps()) {
    metrics.count(metric_key_wraps, key_series(version), wraps);
  }
  heartbeat_due_us_ = now_us + heartbeat_every_ms * 1000;
  heartbeat_timer_.restart(heartbeat_every_ms);
}

void Worker::watch_listeners(bool watches) {
  socket_.watch.watch(watches, false);
  if (port_) port_->watch.watch(watches, false);
}

void Worker::accept_some(Listener& listener) {
  for (int i = 0; i < accepts_per_turn; ++i) {
    if (is_full()) {
      watch_listeners(false);  // until a request ends
      return;
    }
    if (!accept_one(listener)) return;
  }
}

bool Worker::accept_one(Listener& listener) {
  if (free_.empty()) {
    slots_.push_back(std::make_shared<Slot>(context_.listen_fd));
    free_.push_back(slots_.back().get());
  }
  Slot& slot = *free_.back();
  bool is_of_port = &listener != &socket_;
  int failed = is_of_port ? take_peer(listener, slot.connection) : slot.connection.accept();
  if (failed == 0) {
    free_.pop_back();
    // Without this nginx would notice a vanished host only after its time limit for an answer.
    slot.may_be_kept = !is_of_port;
    begin(slot);
    return true;
  }
  bool is_empty = failed == -EAGAIN || failed == -EWOULDBLOCK;
  if (!is_empty) {
    log_warning("accept_failed", {{"cause", strerror(-failed)}});
    end_kept();
    pause_accepting();
  }
  return false;
}

// A connection to the port. What is not whole behind the limits is given up: on a private network a
// buffered request arrives at once. 0, or an errno below 0.
int Worker::take_peer(const Listener& listener, Connection& connection) {
  for (int i = 0; i < accepts_per_turn; ++i) {
    int fd = accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return errno == ECONNABORTED ? -EAGAIN : -errno;
    std::optional<net::IpAddress> peer = net::peer_of(fd);
    if (peer && peers_.contains(*peer)) {
      net::tune_connection(fd);
      setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &peer_limit, sizeof peer_limit);
      setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &peer_limit, sizeof peer_limit);
      return connection.adopt(fd);
    }
    close(fd);
    refuse_peer(peer);
  }
  return -EAGAIN;
}

void Worker::refuse_peer(const std::optional<net::IpAddress>& peer) {
  parts_.metrics.count(metric_peers_refused, 0);
  int64_t now_us = monotonic_us();
  if (now_us - refusal_logged_us_ < refusal_logged_every_us) return;
  refusal_logged_us_ = now_us;
  log_warning("peer_refused",
              {{"peer", peer ? peer->text() : "gone"}, {"why", "api.tcp_peers does not name it"}});
}

// Out of descriptors, most likely: trying at once would only spin. Those of kept connections are
// free by then.
void Worker::pause_accepting() {
  watch_listeners(false);
  accept_timer_.restart(accept_pause_ms);
}

void Worker::begin(Slot& slot) {
  ++in_flight_;
  slot.begun_us = monotonic_us();
  Request& request = slot.request.emplace(request_of(slot.connection.params()));
  make_room_for_body(request, parts_.settings.start().integer("files.request_bytes_max"));
  slot.task = serve(slot);
  slot.task.start(nullptr);
}

Task<void> Worker::read_on_thread(Slot& slot) {
  std::function<bool()> read = [kept = slot.shared_from_this()] {
    return kept->connection.read_body(*kept->request);
  };
  bool is_whole = co_await loop::on_thread(loop_, std::move(read));
  slot.may_be_kept &= is_whole;
}

Task<void> Worker::serve(Slot& slot) {
  bool is_long = slot.request->content_length > body_at_once_bytes || slot.request->spooled;
  if (is_long) co_await read_on_thread(slot);
  if (!is_long) slot.may_be_kept &= slot.connection.read_body(*slot.request);
  Answered answered = co_await dispatch(parts_, *slot.request);
  write(slot, answered);
  bool is_whole = co_await write_rest(parts_, slot.connection, *slot.request, answered.response);
  slot.may_be_kept &= is_whole;
  count(slot, answered);
  finish(slot);
  if (is_draining_) {
    stop_when_idle();
  } else if (in_flight_ == in_flight_max - 1) {
    watch_listeners(true);
  }
}

void Worker::count(const Slot& slot, const Answered& answered) {
  const MetricsWriter& metrics = parts_.metrics;
  const Request& request = *slot.request;
  int64_t duration_us = monotonic_us() - slot.begun_us;
  metrics.count(metric_requests, request_series(answered.route, answered.response.status));
  metrics.observe_us(metric_request_seconds, route_series(answered.route), duration_us);
  if (!log_takes(LogLevel::debug)) return;
  log_debug("request", {{"trace_id", answered.trace_id},
                        {"method", std::string(method_name(request.method))},
                        {"path", http::logged_path(request.uri)},
                        {"status", std::to_string(answered.response.status)},
                        {"duration_us", std::to_string(duration_us)}});
}

void Worker::write(Slot& slot, const Answered& answered) {
  const Request& request = *slot.request;
  http::HeaderList cors_headers;
  http::CorsRequest asked{request.origin, http::is_protocol_path(request.uri)};
  http::add_cors_headers(parts_.settings.current()->strings("http.cors_origins"), asked,
                         cors_headers);
  slot.connection.write(response_head(request, answered, cors_headers));
  if (request.method != Method::head) slot.connection.write(answered.response.body());
}

// Connections of reads alone are kept: nginx sends one again when its connection ends, as with each
// worker that goes; for anything else it would have to answer 502, so it gives others a connection
// of their own (nginx/hostler.conf).
bool is_read(const Request& request) {
  return request.method == Method::get || request.method == Method::head;
}

void Worker::finish(Slot& slot) {
  bool keeps = slot.may_be_kept && is_read(*slot.request) && !is_draining_ && kept_ < kept_max;
  slot.request.reset();  // its views end with the connection's request
  slot.connection.finish(keeps);
  --in_flight_;
  if (slot.connection.is_open() && !slot.watch) {
    slot.watch = loop::FdWatch::of_copy(loop_, slot.connection.fd(),
                                        [this, &slot](bool, bool) { go_on(slot); });
    slot.connection.make_blocking();
  }
  if (!slot.connection.is_open() || !slot.watch) return release(slot);
  ++kept_;
  slot.watch->watch(true, false);
}

// A kept connection has something: its next request, or its end, maybe in the middle of one.
void Worker::go_on(Slot& slot) {
  if (slot.request) {
    slot.may_be_kept = false;
    slot.watch->watch(false, false);
    return;
  }
  take_next(slot, true);
}

void Worker::take_next(Slot& slot, bool keeps) {
  Connection::Next next = slot.connection.next();
  if (next == Connection::Next::nothing && keeps) return;
  --kept_;
  next == Connection::Next::request ? begin(slot) : release(slot);
}

// Requests that kept connections have already sent are still served.
void Worker::end_kept() {
  for (const std::shared_ptr<Slot>& slot : slots_) {
    if (slot->watch && !slot->request) take_next(*slot, false);
  }
}

void Worker::release(Slot& slot) {
  slot.watch.reset();
  slot.connection.close();
  free_.push_back(&slot);
}

// Connections that exist already are still served: when the whole pool stops, nobody else would.
void Worker::drain() {
  if (is_draining_) return;
  is_draining_ = true;
  drain_pipe_.watch(false, false);
  watch_listeners(false);
  accept_timer_.cancel();
  while (!is_full() && accept_one(socket_)) {
  }
  while (port_ && !is_full() && accept_one(*port_)) {
  }
  end_kept();
  accept_timer_.cancel();
  drain_timer_.restart(drain_limit_ms);
  parts_.denials.finish([this] { stop_when_idle(); });
  stop_when_idle();
}

// Answers first, then what the audit log has to hear of them.
void Worker::stop_when_idle() {
  if (in_flight_ == 0 && parts_.denials.is_written()) loop_.stop();
}

void limit_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur > descriptors_max) limit.rlim_cur = descriptors_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int run_worker(const config::Settings& settings, const config::SecretBox& secret_box,
               const client::RiskyNetworks& risky_networks, SharedPool& shared,
               const WorkerContext& context) {
  limit_descriptors();
  FCGX_Init();
  // The master's pipe says when to finish. libfcgi's own handler would race with requests.
  for (int number : {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGPIPE}) signal(number, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  Worker worker(settings, secret_box, risky_networks, shared, context);
  worker.run();
  return 0;
}

}  // namespace hostler
