// What happens to all clients of the relay: accepting, news, pings, rounds, draining; see
// sse-relay/relay_state.h.
#include "sse-relay/relay_state.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "lib/log.h"
#include "lib/service_notify.h"
#include "lib/tcp_listener.h"
#include "lib/unix_listener.h"
#include "queries/access.h"
#include "sse-relay/rounds.h"
#include "sse-relay/stream_answer.h"

namespace hostler::relay {
namespace {

// Batches for single clients that are on their way to Postgres at once.
constexpr size_t questions_max = 256;
// Connections above the open streams: requests that arrive, answers that leave.
constexpr size_t guests_max = 1024;
// How soon to come back: never all at once.
constexpr int64_t retry_least_ms = 1000;
constexpr int64_t retry_spread_ms = 2000;
constexpr int64_t standstill_look_ms = 5000;
constexpr int64_t refusal_told_every_ms = 1000;

// The daemon's runs need descriptors too: the last eighth of what the process may have is theirs.
// The lowest that is free tells how many there are, holes aside.
bool are_descriptors_scarce() {
  int lowest_free = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  if (lowest_free < 0) return errno == EMFILE || errno == ENFILE;
  close(lowest_free);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  return static_cast<rlim_t>(lowest_free) >= limit.rlim_cur - limit.rlim_cur / 8;
}

DatabaseOptions database_options(const RelayOptions& options) {
  DatabaseOptions made;
  made.conninfo = options.conninfo;
  made.application_name = "hostler-runner streams";
  made.own_connections_max = 2;  // one for each kind of round; denials take one when they come
  made.plans_once = true;
  return made;
}

}  // namespace

Relay::State::State(RelayOptions options, EventFeed& feed)
    : options_(std::move(options)),
      feed_(feed),
      db_(loop_, database_options(options_)),
      channels_(loop_, feed, [this] { announce_read(); }),
      gate_(loop_, questions_max),
      services_{
          loop_,
          db_,
          channels_,
          gate_,
          [this] { return streams_.load() >= options_.clients_max || are_descriptors_scarce(); },
          [this] { return cors_origins(); },
          [this] { return retry_ms(); },
          [this](Client& client) { opened(client); }},
      wheel_(options_.tick_ms, loop_.now_ms()),
      news_(loop_, [this] { take_news(); }),
      stop_(loop_, [this] { drain(); }),
      ticks_(loop_, [this] { tick(); }),
      drain_limit_(loop_, [this] { loop_.stop(); }),
      ping_(std::make_shared<const std::string>(": ping\n\n")),
      random_(std::random_device{}()),
      denials_(loop_, db_, query::audit_denials,
               [this](int64_t count) { counts_.denials_dropped += count; }),
      rounds_(loop_, log_task_failure) {
  allow_origins(options_.cors_origins);
  int fd = handed_listener("stream");
  if (fd < 0) fd = listen_unix(options_.socket_path, 0660);
  listener_ = std::make_unique<StreamListener>(
      loop_, fd, [this](std::unique_ptr<Stream> stream) { accept(std::move(stream)); });
  open_port();
  feed_.on_news([this] { news_.ring(); });
}

// SCGI believes what the peer says, so only those that are named may connect.
void Relay::State::open_port() {
  std::optional<TcpPlace> place = TcpPlace::parse(options_.listen_tcp);
  if (!place) return;
  peers_ = CidrList::parse(options_.tcp_peers).value_or(CidrList());
  std::string fault;
  int fd = listen_tcp(*place, fault);
  if (fd < 0) throw Error(ErrorCode::internal_error, {}, "stream.listen_tcp: " + fault);
  port_ = std::make_unique<StreamListener>(
      loop_, fd, [this](std::unique_ptr<Stream> stream) { accept(std::move(stream)); },
      [this](int accepted_fd) { return admits_peer(accepted_fd); });
}

bool Relay::State::admits_peer(int fd) {
  std::optional<IpAddress> peer = peer_of(fd);
  if (peer && peers_.contains(*peer)) {
    tune_connection(fd);
    return true;
  }
  ++counts_.peers_refused;
  int64_t now_ms = loop_.now_ms();
  if (refusal_told_ms_ == 0 || now_ms - refusal_told_ms_ >= refusal_told_every_ms) {
    refusal_told_ms_ = now_ms;
    log_warning("peer_refused", {{"peer", peer ? peer->text() : "gone"},
                                 {"why", "stream.tcp_peers does not name it"}});
  }
  return false;
}

Relay::State::~State() {
  feed_.on_news({});
  // Tasks and channels look at clients, and clients at tasks: all end while the loop still stands.
  while (!clients_.empty()) destroy(*clients_.back());
}

void Relay::State::run() {
  rounds_.add_forever("read", read_due_runs(services_, read_due_));
  // A peer that went away is an error of the write, not the end of the program.
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
  loop_.run();
  feed_.on_news({});
}

void Relay::State::accept(std::unique_ptr<Stream> stream) {
  // nginx tells its client 502; nothing of ours could be heard before the request was.
  if (clients_.size() >= static_cast<size_t>(options_.clients_max) + guests_max) return;
  clients_.push_back(std::make_unique<Client>(std::move(stream), *this));
  Client& client = *clients_.back();
  client.slot = static_cast<uint32_t>(clients_.size() - 1);
  client.sent_ms = loop_.now_ms();
  if (!ticks_.pending()) {
    wheel_.advance(client.sent_ms, [](Client&) {});  // it stood still, and is empty
    ticks_.restart(options_.tick_ms);
  }
  wheel_.place(client, client.sent_ms + options_.head_limit_ms);
  client.stream->start(client);
}

void Relay::State::take_news() { channels_.publish(feed_.take()); }

// Once for all that is due in this turn.
void Relay::State::announce_read() {
  if (is_read_announced_) return;
  is_read_announced_ = true;
  loop_.defer([this] {
    is_read_announced_ = false;
    read_due_.notify();
  });
}

void Relay::State::tick() {
  int64_t now_ms = loop_.now_ms();
  wheel_.advance(now_ms, [this](Client& client) { look_at(client); });
  if (clients_.empty()) return;  // the next client starts the ticks again
  ticks_.restart(options_.tick_ms);
  look_at_silent_runs();
  if (channels_.is_read_due()) announce_read();
  if (now_ms - rechecked_ms_ >= options_.recheck_every_ms && !rounds_.contains("recheck")) {
    rechecked_ms_ = now_ms;
    rounds_.add("recheck",
                recheck(services_, clients_, [this](Client& client) { end_early(client); }));
  }
  if (has_stalled_) resume_stalled();
}

// A notification may be lost, and whoever should have sent it may be dead.
void Relay::State::look_at_silent_runs() {
  int64_t silent_ms = feed_.is_listening() ? options_.look_anyway_ms : options_.look_alone_ms;
  if (loop_.now_ms() - looked_ms_ < silent_ms / 4) return;
  looked_ms_ = loop_.now_ms();
  channels_.hint_silent(silent_ms);
}

// While Postgres is away only one asks.
void Relay::State::resume_stalled() {
  has_stalled_ = false;
  for (size_t i = 0; i < clients_.size(); ++i) {
    Client& client = *clients_[i];
    bool is_stalled =
        client.phase == Phase::behind && client.is_resting() && client.stream->pending_bytes() == 0;
    if (!is_stalled) continue;
    start(client);
    if (db_.connected()) continue;
    has_stalled_ = true;
    return;
  }
}

void Relay::State::look_at(Client& client) {
  int64_t now_ms = loop_.now_ms();
  if (client.phase == Phase::reading) {
    int64_t limit_ms = client.sent_ms + options_.head_limit_ms;
    if (now_ms >= limit_ms) {
      destroy(client);
    } else {
      wheel_.place(client, limit_ms);
    }
    return;
  }
  size_t pending = client.stream->pending_bytes();
  if (pending > 0) {
    uint64_t written = client.sent_bytes - pending;
    if (written != client.written_bytes) {
      client.written_bytes = written;
      client.stands_since_ms = now_ms;
    }
    int64_t limit_ms = client.stands_since_ms + options_.standstill_max_ms;
    if (now_ms >= limit_ms) {
      ++counts_.cut_off;
      destroy(client);
      return;
    }
    wheel_.place(client, std::min(limit_ms, now_ms + standstill_look_ms));
    return;
  }
  bool is_open = client.phase == Phase::live || client.phase == Phase::behind;
  if (is_open && now_ms - client.sent_ms >= options_.ping_after_ms) {
    client.send({&ping_, 1}, now_ms);
  }
  wheel_.place(client,
               is_open ? client.sent_ms + options_.ping_after_ms : now_ms + options_.ping_after_ms);
}

void Relay::State::drain() {
  if (is_draining_) return;
  is_draining_ = true;
  listener_.reset();
  port_.reset();
  take_news();
  drain_limit_.restart(options_.drain_limit_ms);
  denials_.finish([this] { stop_when_done(); });
  stop_when_done();
  for (size_t i = clients_.size(); i-- > 0;) drain_client(*clients_[i]);
}

void Relay::State::stop_when_done() {
  if (clients_.empty() && denials_.is_written()) loop_.stop();
}

// What was committed and told before the stop has been sent; the rest is read after the reconnect.
void Relay::State::drain_client(Client& client) {
  switch (client.phase) {
    case Phase::reading:
      destroy(client);
      break;
    case Phase::opening: {
      Error error(ErrorCode::http_unavailable, "The service is being restarted.");
      error.retry_after_s = 1;
      client.task.cancel();
      refuse(client, error);
      break;
    }
    case Phase::behind:
    case Phase::live:
      client.send(retry_block(retry_ms()), loop_.now_ms());
      end_early(client);
      break;
    case Phase::ending:
      break;
  }
}

int64_t Relay::State::retry_ms() {
  return retry_least_ms + static_cast<int64_t>(random_() % retry_spread_ms);
}

Origins Relay::State::cors_origins() const {
  std::lock_guard<std::mutex> held(settings_lock_);
  return origins_;
}

void Relay::State::allow_origins(std::vector<std::string> origins) {
  Origins fresh = std::make_shared<const std::vector<std::string>>(std::move(origins));
  std::lock_guard<std::mutex> held(settings_lock_);
  origins_ = std::move(fresh);
}

std::shared_ptr<const Gateway> Relay::State::gateway() const {
  std::lock_guard<std::mutex> held(settings_lock_);
  return gateway_;
}

void Relay::State::use_gateway(Gateway gateway) {
  std::shared_ptr<const Gateway> fresh = std::make_shared<const Gateway>(std::move(gateway));
  std::lock_guard<std::mutex> held(settings_lock_);
  gateway_ = std::move(fresh);
}

RelayOptions relay_options(const Settings& start) {
  RelayOptions options;
  options.socket_path = start.text("stream.socket");
  options.listen_tcp = start.text("stream.listen_tcp");
  options.tcp_peers = start.strings("stream.tcp_peers");
  options.conninfo = start.text("database.url");
  options.clients_max = static_cast<int>(start.integer("stream.clients_max"));
  options.cors_origins = start.strings("http.cors_origins");
  return options;
}

RelayCounts Relay::State::counts() const {
  return {streams_.load(),        counts_.opened.load(),        counts_.refused.load(),
          counts_.cut_off.load(), counts_.peers_refused.load(), counts_.denials_dropped.load()};
}

Relay::Relay(RelayOptions options, EventFeed& feed)
    : state_(std::make_unique<State>(std::move(options), feed)) {}
Relay::~Relay() = default;
void Relay::run() { state_->run(); }
void Relay::stop() { state_->stop(); }
int Relay::streams() const { return state_->streams(); }
RelayCounts Relay::counts() const { return state_->counts(); }
void Relay::allow_origins(std::vector<std::string> cors_origins) {
  state_->allow_origins(std::move(cors_origins));
}
void Relay::use_gateway(Gateway gateway) { state_->use_gateway(std::move(gateway)); }

}  // namespace hostler::relay
