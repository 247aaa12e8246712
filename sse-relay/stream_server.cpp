// Work for all clients: accepting, updates, ticks, draining; see sse-relay/stream_server.h.
#include "sse-relay/stream_server.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>
#include <utility>

#include "lib/net/tcp_listener.h"
#include "lib/net/unix_listener.h"
#include "lib/program/service_notify.h"

namespace hostler::relay {
namespace {

// Batches for single clients that are on their way to Postgres at once.
constexpr size_t questions_max = 256;
// Connections above the open streams: requests that arrive, answers that leave.
constexpr size_t over_limit_max = 1024;
// Size from which on a client is counted. The backlog of a client that follows a run is smaller,
// but an event may be as long as all earlier text.
constexpr size_t unread_bytes_counted = size_t{1} << 20;
// How soon to come back: never all at once.
constexpr int64_t retry_min_ms = 1000;
constexpr int64_t retry_spread_ms = 2000;

size_t counted_bytes(const StreamClient& client) {
  size_t bytes = client.unread_bytes();
  return bytes < unread_bytes_counted ? 0 : bytes;
}

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

postgres::DatabaseOptions database_options(const StreamOptions& options) {
  postgres::DatabaseOptions for_streams;
  for_streams.conninfo = options.conninfo;
  for_streams.application_name = "hostler-runner streams";
  for_streams.dedicated_connections_max =
      2;  // one for each task of the poller; denials take one when they come
  for_streams.plans_once = true;
  return for_streams;
}

}  // namespace

StreamServer::StreamServer(StreamOptions options, events::EventBus& bus)
    : options_(std::move(options)),
      bus_(bus),
      semaphore_(loop_, questions_max),
      db_(loop_, database_options(options_)),
      subscriptions_(loop_, bus, [this] { poller_.read_soon(); }),
      wheel_(options_.tick_ms, loop_.now_ms()),
      denials_(loop_, db_, [this](int64_t count) { counts_.denials_dropped += count; }),
      services_{options_, loop_,    db_,           subscriptions_, semaphore_,
                wheel_,   denials_, open_streams_, *this},
      updates_(loop_, [this] { take_updates(); }),
      stop_(loop_, [this] { drain(); }),
      ticks_(loop_, [this] { tick(); }),
      drain_limit_(loop_, [this] { loop_.stop(); }),
      random_(std::random_device{}()),
      poller_(options_, loop_, db_, bus, subscriptions_, clients_) {
  allow_origins(options_.cors_origins);
  int fd = program::handed_listener("stream");
  if (fd < 0) fd = net::listen_unix(options_.socket_path, 0660);
  listener_ = std::make_unique<loop::StreamListener>(
      loop_, fd, [this](loop::Stream stream) { accept(std::move(stream)); });
  open_port();
  bus_.on_updates([this] { updates_.notify(); });
}

StreamServer::~StreamServer() {
  bus_.on_updates({});
  // Tasks and subscriptions look at clients, and clients at tasks: all end while the loop still
  // stands.
  while (!clients_.empty()) gone(*clients_.back());
}

void StreamServer::run() {
  poller_.start();
  // A peer that went away is an error of the write, not the end of the program.
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
  loop_.run();
  bus_.on_updates({});
}

// ---------------------------------------------------------------- clients come and go

void StreamServer::open_port() {
  std::optional<net::TcpEndpoint> endpoint = net::TcpEndpoint::parse(options_.listen_tcp);
  if (!endpoint) return;
  peers_.emplace(net::CidrList::parse(options_.tcp_peers).value_or(net::CidrList()),
                 "stream.tcp_peers");
  std::string fault;
  int fd = net::listen_tcp(*endpoint, fault);
  if (fd < 0) throw Error(ErrorCode::internal_error, {}, "stream.listen_tcp: " + fault);
  port_ = std::make_unique<loop::StreamListener>(
      loop_, fd, [this](loop::Stream stream) { accept(std::move(stream)); },
      [this](int accepted_fd) { return admits_peer(accepted_fd); });
}

bool StreamServer::admits_peer(int fd) {
  bool is_admitted = peers_->admits(fd, loop_.now_ms());
  if (!is_admitted) ++counts_.peers_refused;
  return is_admitted;
}

void StreamServer::accept(loop::Stream stream) {
  // nginx tells its client 502; nothing of ours could be heard before the request was.
  if (clients_.size() >= static_cast<size_t>(options_.clients_max) + over_limit_max) return;
  if (!ticks_.pending()) {
    wheel_.advance(loop_.now_ms(), [](TimerWheel::Entry&) {});  // it stood still, and is empty
    ticks_.restart(options_.tick_ms);
  }
  clients_.push_back(std::make_unique<StreamClient>(std::move(stream), services_));
  StreamClient& client = *clients_.back();
  client.set_index(static_cast<uint32_t>(clients_.size() - 1));
  client.start();
}

void StreamServer::gone(StreamClient& client) {
  if (client.is_counted()) {
    --streams_;
    open_streams_.remove(client.reader());
  }
  if (client.is_to_be_freed()) std::erase(rested_, &client);
  uint32_t index = client.index();
  std::unique_ptr<StreamClient> leaving = std::move(clients_[index]);
  clients_[index] = std::move(clients_.back());
  if (clients_[index]) clients_[index]->set_index(index);
  clients_.pop_back();
  leaving.reset();
  if (is_draining_) stop_when_done();
}

// A task that has ended is freed on the loop's next turn, not from inside its own frame.
void StreamServer::rested(StreamClient& client) {
  if (rested_.empty()) {
    loop_.defer([this] {
      for (StreamClient* rested : std::exchange(rested_, {})) rested->free_task();
    });
  }
  rested_.push_back(&client);
}

void StreamServer::opened() {
  ++streams_;
  ++counts_.opened;
}

// ---------------------------------------------------------------- all clients

void StreamServer::take_updates() { subscriptions_.publish(bus_.take()); }

void StreamServer::tick() {
  wheel_.advance(loop_.now_ms(),
                 [](TimerWheel::Entry& entry) { static_cast<StreamClient&>(entry).look(); });
  if (clients_.empty()) return;  // the next client starts the ticks again
  ticks_.restart(options_.tick_ms);
  poller_.tick();
  bound_unread();
  if (has_stalled_) resume_stalled();
}

// Disconnects the client with the largest backlog, of the organization with the largest backlog,
// until the others have half of the limit: the other half may come before the next tick.
void StreamServer::bound_unread() {
  unread_bytes_ = count_unread();
  size_t kept_max = options_.unread_bytes_max / 2;
  if (unread_bytes_ <= kept_max) return;
  std::map<UuidBytes, size_t> of_orgs;
  std::vector<StreamClient*> clients;
  for (const std::unique_ptr<StreamClient>& client : clients_) {
    if (counted_bytes(*client) == 0) continue;
    of_orgs[client->reader().org_id] += counted_bytes(*client);
    clients.push_back(client.get());
  }
  auto leaves = [&](const StreamClient* client) {
    return std::pair(of_orgs[client->reader().org_id], counted_bytes(*client));
  };
  std::sort(clients.begin(), clients.end(),
            [&](const StreamClient* a, const StreamClient* b) { return leaves(a) > leaves(b); });
  for (StreamClient* most : clients) {
    if (unread_bytes_ <= kept_max) return;
    unread_bytes_ -= counted_bytes(*most);
    cut_off();
    gone(*most);
  }
}

// While Postgres is away only one asks.
void StreamServer::resume_stalled() {
  has_stalled_ = false;
  for (size_t i = 0; i < clients_.size(); ++i) {
    if (!clients_[i]->resume() || db_.connected()) continue;
    has_stalled_ = true;
    return;
  }
}

void StreamServer::drain() {
  if (is_draining_) return;
  is_draining_ = true;
  listener_.reset();
  port_.reset();
  take_updates();
  drain_limit_.restart(options_.drain_limit_ms);
  denials_.finish([this] { stop_when_done(); });
  stop_when_done();
  for (size_t i = clients_.size(); i-- > 0;) clients_[i]->drain();
}

void StreamServer::stop_when_done() {
  if (clients_.empty() && denials_.is_written()) loop_.stop();
}

// ---------------------------------------------------------------- requests of clients

bool StreamServer::is_crowded() const {
  return streams_.load() >= options_.clients_max || are_descriptors_scarce();
}

size_t StreamServer::count_unread() const {
  size_t bytes = 0;
  for (const std::unique_ptr<StreamClient>& client : clients_) bytes += counted_bytes(*client);
  return bytes;
}

bool StreamServer::has_room_for(size_t unread_bytes) {
  if (unread_bytes < unread_bytes_counted) return true;
  bool seems_full = unread_bytes_ + unread_bytes > options_.unread_bytes_max;
  if (seems_full) unread_bytes_ = count_unread();  // some of it was read since
  if (unread_bytes_ + unread_bytes > options_.unread_bytes_max) return false;
  unread_bytes_ += unread_bytes;
  return true;
}

int64_t StreamServer::retry_ms() {
  return retry_min_ms + static_cast<int64_t>(random_() % retry_spread_ms);
}

// A tenth more or less, so that streams which began together do not come back together.
int64_t StreamServer::age_max_ms() {
  int64_t tenth = options_.age_max_ms / 10;
  int64_t spread = tenth > 0 ? static_cast<int64_t>(random_()) % (2 * tenth + 1) : 0;
  return options_.age_max_ms - tenth + spread;
}

Origins StreamServer::cors_origins() const {
  std::lock_guard<std::mutex> lock(settings_lock_);
  return origins_;
}

void StreamServer::allow_origins(std::vector<std::string> origins) {
  Origins fresh = std::make_shared<const std::vector<std::string>>(std::move(origins));
  std::lock_guard<std::mutex> lock(settings_lock_);
  origins_ = std::move(fresh);
}

std::shared_ptr<const client::Gateway> StreamServer::gateway() const {
  std::lock_guard<std::mutex> lock(settings_lock_);
  return gateway_;
}

void StreamServer::use_gateway(client::Gateway gateway) {
  std::shared_ptr<const client::Gateway> fresh =
      std::make_shared<const client::Gateway>(std::move(gateway));
  std::lock_guard<std::mutex> lock(settings_lock_);
  gateway_ = std::move(fresh);
}

StreamCounts StreamServer::counts() const {
  return {streams_.load(),         counts_.opened.load(),        counts_.refused.load(),
          counts_.cut_off.load(),  counts_.peers_refused.load(), counts_.denials_dropped.load(),
          poller_.runs_gone_back()};
}

}  // namespace hostler::relay
