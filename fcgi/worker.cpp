// FastCGI requests on the loop; see fcgi/worker.h.
//
// nginx connects with the whole request buffered, so accepting and reading do not wait; a peer that
// connects and stays silent would block the loop, which the socket's mode and the master's watchdog
// cover (ARCHITECTURE.md). Without FCGX_Detach, finishing would wait for nginx to close.
#include "fcgi/worker.h"

#include <fcgiapp.h>
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

#include "fcgi/dispatch.h"
#include "fcgi/response_head.h"
#include "fcgi/worker_parts.h"
#include "lib/log.h"
#include "lib/loop/loop.h"
#include "lib/loop/wait.h"
#include "lib/net/tcp_listener.h"

namespace hostler {
namespace {

constexpr size_t in_flight_max = 512;
constexpr int accepts_per_turn = 16;
// A worker that takes less leaves more to its neighbours; libfcgi's select() needs descriptors <
// 1024.
constexpr rlim_t descriptors_max = 1000;
constexpr int64_t accept_pause_ms = 50;
constexpr int64_t heartbeat_every_ms = 250;
// Shorter than the 25 s within which every program ends after SIGTERM.
constexpr int64_t drain_limit_ms = 20'000;
constexpr timeval peer_limit{.tv_sec = 2, .tv_usec = 0};
constexpr int64_t refusal_logged_every_us = 1'000'000;
// What is read of a body that nobody wants, so that nginx takes the answer.
constexpr int64_t discard_bytes_max = 8 << 20;
// What is read of a body while all other requests of the worker wait. A socket holds some 200 KiB;
// the rest of a longer one comes as fast as nginx finds a core.
constexpr int64_t body_at_once_bytes = 96 << 10;

// One request in flight, used again and again.
struct Slot : std::enable_shared_from_this<Slot> {
  FCGX_Request fcgx;
  std::optional<Request> request;
  Task<void> task;
  int64_t begun_us = 0;
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
  int take_connection(const Listener& listener, FCGX_Request& fcgx);
  int take_peer(const Listener& listener, FCGX_Request& fcgx);
  void refuse_peer(const std::optional<net::IpAddress>& peer);
  void watch_listeners(bool watches);
  void pause_accepting();
  void begin(Slot& slot);
  Task<void> read_on_thread(Slot& slot);
  Task<void> serve(Slot& slot);
  void write(Slot& slot, const Answered& answered);
  void count(const Slot& slot, const Answered& answered);
  void finish(Slot& slot);
  void heartbeat();
  void drain();
  void stop_when_idle();
  bool is_full() const { return free_.empty() && slots_.size() >= in_flight_max; }
  size_t in_flight() const { return slots_.size() - free_.size(); }

  WorkerContext context_;
  WorkerSlot& worker_slot_;
  loop::Loop loop_;
  WorkerParts parts_;
  std::vector<std::shared_ptr<Slot>> slots_;
  std::vector<Slot*> free_;
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

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

postgres::DatabaseOptions database_options(const config::Settings& settings, int slot_number) {
  postgres::DatabaseOptions options;
  options.conninfo = settings.text("database.url");
  // node_list() in sql/schema/dashboard.sql takes it apart. Postgres keeps 63 bytes.
  options.application_name =
      fmt::format("hostler-api/{} {} {:.40}", slot_number, HOSTLER_VERSION, host_name());
  options.dedicated_connections_max = static_cast<int>(settings.integer("api.own_connections"));
  options.party_connections_max = std::max(1, options.dedicated_connections_max / 2);
  return options;
}

Worker::Worker(const config::Settings& settings, const config::SecretBox& secret_box,
               const client::RiskyNetworks& risky_networks, SharedPool& shared,
               const WorkerContext& context)
    : context_(context),
      worker_slot_(shared.worker_slots[context.slot_number]),
      parts_(loop_, database_options(settings, context.slot_number), settings, secret_box, shared,
             context.slot_number, risky_networks),
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
  metrics.set(metric_in_flight, 0, static_cast<int64_t>(in_flight()));
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
    slots_.push_back(std::make_shared<Slot>());
    free_.push_back(slots_.back().get());
    FCGX_InitRequest(&free_.back()->fcgx, context_.listen_fd, 0);
  }
  Slot& slot = *free_.back();
  int failed = take_connection(listener, slot.fcgx);
  if (failed == 0) {
    free_.pop_back();
    begin(slot);
    return true;
  }
  bool is_empty = failed == -EAGAIN || failed == -EWOULDBLOCK;
  if (!is_empty) {
    log_warning("accept_failed", {{"cause", strerror(-failed)}});
    pause_accepting();
  }
  return false;
}

// 0, or an errno below 0.
int Worker::take_connection(const Listener& listener, FCGX_Request& fcgx) {
  if (&listener != &socket_) {
    int failed = take_peer(listener, fcgx);
    if (failed != 0) return failed;
  }
  errno = 0;
  return FCGX_Accept_r(&fcgx);
}

// A connection to the port: libfcgi finds it there already, as one that it kept from a request
// before, and reads from it. What is not whole behind the limits is given up: on a private network
// a buffered request arrives at once.
int Worker::take_peer(const Listener& listener, FCGX_Request& fcgx) {
  for (int i = 0; i < accepts_per_turn; ++i) {
    int fd = accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return errno == ECONNABORTED ? -EAGAIN : -errno;
    std::optional<net::IpAddress> peer = net::peer_of(fd);
    if (peer && peers_.contains(*peer)) {
      net::tune_connection(fd);
      setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &peer_limit, sizeof peer_limit);
      setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &peer_limit, sizeof peer_limit);
      fcgx.ipcFd = fd;
      fcgx.keepConnection = 1;
      return 0;
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

// Out of descriptors, most likely: trying at once would only spin.
void Worker::pause_accepting() {
  watch_listeners(false);
  accept_timer_.restart(accept_pause_ms);
}

bool has_body(const Request& request) {
  return request.content_length > 0 && request.content_length <= body_bytes_limit;
}

// Reads the input to its end, whatever becomes of it, into the room that there is for it.
void read_body(FCGX_Stream* in, Request& request) {
  if (has_body(request)) {
    int count = FCGX_GetStr(request.body.data(), static_cast<int>(request.body.size()), in);
    request.body.resize(static_cast<size_t>(count < 0 ? 0 : count));
    request.body_is_short = static_cast<int64_t>(request.body.size()) < request.content_length;
  }
  char rest[4096];
  for (int64_t discarded = 0; discarded < discard_bytes_max; discarded += sizeof rest) {
    if (FCGX_GetStr(rest, sizeof rest, in) < static_cast<int>(sizeof rest)) return;
  }
}

void Worker::begin(Slot& slot) {
  slot.begun_us = monotonic_us();
  Request& request = slot.request.emplace(request_of(slot.fcgx.envp));
  if (has_body(request)) request.body.resize(static_cast<size_t>(request.content_length));
  slot.task = serve(slot);
  slot.task.start(nullptr);
}

Task<void> Worker::read_on_thread(Slot& slot) {
  std::function<bool()> read = [kept = slot.shared_from_this()] {
    read_body(kept->fcgx.in, *kept->request);
    return true;
  };
  co_await loop::on_thread(loop_, std::move(read));
}

Task<void> Worker::serve(Slot& slot) {
  bool is_long = slot.request->content_length > body_at_once_bytes;
  if (is_long) co_await read_on_thread(slot);
  if (!is_long) read_body(slot.fcgx.in, *slot.request);
  Answered answered = co_await dispatch(parts_, *slot.request);
  write(slot, answered);
  count(slot, answered);
  finish(slot);
  free_.push_back(&slot);
  if (is_draining_) {
    stop_when_idle();
  } else if (in_flight() == in_flight_max - 1) {
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
                        {"path", std::string(request.uri.substr(0, request.uri.find('?')))},
                        {"status", std::to_string(answered.response.status)},
                        {"duration_us", std::to_string(duration_us)}});
}

void put(FCGX_Stream* out, std::string_view text) {
  // A peer that went away shows itself here and nowhere else; there is nobody left to tell.
  FCGX_PutStr(text.data(), static_cast<int>(text.size()), out);
}

void Worker::write(Slot& slot, const Answered& answered) {
  const Request& request = *slot.request;
  http::HeaderList cors_headers;
  http::CorsRequest asked{request.origin, http::is_protocol_path(request.uri)};
  http::add_cors_headers(parts_.settings.current()->strings("http.cors_origins"), asked,
                         cors_headers);
  put(slot.fcgx.out, response_head(request, answered, cors_headers));
  if (request.method != Method::head) put(slot.fcgx.out, answered.response.body());
}

// Last: the request's views point into what libfcgi frees here. The connection ends with it, though
// nginx offers to keep it (nginx/snippets/api.conf): libfcgi would read the next request from it,
// waiting.
void Worker::finish(Slot& slot) {
  slot.request.reset();
  slot.fcgx.keepConnection = 0;
  FCGX_Detach(&slot.fcgx);
  FCGX_Finish_r(&slot.fcgx);
}

// What connected already is still taken: when the whole pool stops, nobody else would.
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
  accept_timer_.cancel();
  drain_timer_.restart(drain_limit_ms);
  parts_.denials.finish([this] { stop_when_idle(); });
  stop_when_idle();
}

// Answers first, then what the audit log has to hear of them.
void Worker::stop_when_idle() {
  if (in_flight() == 0 && parts_.denials.is_written()) loop_.stop();
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
  // The master's pipe says when to finish. libfcgi's own handler would race with requests, and a
  // terminal's Ctrl-C reaches the whole group.
  for (int number : {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGPIPE}) signal(number, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  Worker worker(settings, secret_box, risky_networks, shared, context);
  worker.run();
  return 0;
}

}  // namespace hostler
