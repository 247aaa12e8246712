// One thread that polls all connections; see tests/support/peers/faulty_proxy.h.
#include "tests/support/peers/faulty_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "tests/support/eventually.h"

namespace hostler::testing_support {

// Bytes of one end on their way to the other.
struct FaultyProxy::Way {
  int from = -1;
  int to = -1;
  LineEnd sender = LineEnd::client;
  std::string held;               // may be the beginning of what a fault waits for
  std::string waiting;            // to be written
  std::optional<ProxyFault> met;  // it happens when its `passing` bytes are through
  bool is_lost = false;
  bool has_ended = false;
  bool has_told_end = false;
  int64_t not_before_ms = 0;
  int trickle_ms = 0;  // between two bytes
};

struct FaultyProxy::Link {
  Way up;
  Way down;
  bool is_frozen = false;
  bool is_over = false;
  bool is_reset = false;

  ~Link() {
    for (int fd : {up.from, down.from}) {
      linger now{1, 0};
      if (is_reset) setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
      close(fd);
    }
  }
};

namespace {

constexpr size_t waiting_bytes_max = 1 << 20;

struct Address {
  sockaddr_storage bytes{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

Address unix_address(const std::string& path) {
  Address address;
  auto& unix = reinterpret_cast<sockaddr_un&>(address.bytes);
  unix.sun_family = AF_UNIX;
  if (path.size() >= sizeof unix.sun_path) throw std::runtime_error(path + " is too long");
  std::copy(path.begin(), path.end(), unix.sun_path);
  address.length = sizeof unix;
  return address;
}

Address tcp_address(const std::string& host, int port) {
  Address address;
  auto& v4 = reinterpret_cast<sockaddr_in&>(address.bytes);
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<uint16_t>(port));
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) != 1) {
    throw std::runtime_error(host + " is no IPv4 address");
  }
  address.length = sizeof v4;
  return address;
}

Address address_of(const std::string& server) {
  if (server.starts_with('/')) return unix_address(server);
  size_t colon = server.rfind(':');
  int port = 0;
  std::from_chars(server.data() + colon + 1, server.data() + server.size(), port);
  return tcp_address(server.substr(0, colon), port);
}

int new_socket(const Address& address) {
  return socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

// How many bytes at the end of text may be the beginning of wanted.
size_t beginning_of(std::string_view wanted, std::string_view text) {
  size_t length = std::min(wanted.empty() ? 0 : wanted.size() - 1, text.size());
  while (length > 0 && text.substr(text.size() - length) != wanted.substr(0, length)) --length;
  return length;
}

}  // namespace

std::string committed_answer() {
  return std::string(
      "C\0\0\0\x0b"
      "COMMIT\0",
      12);
}
std::string commit_request() { return std::string("COMMIT\0", 7); }

FaultyProxy::FaultyProxy(std::string server) : server_(std::move(server)) {
  Address own = tcp_address("127.0.0.1", 0);
  if (server_.starts_with('/')) {
    std::string name = (std::filesystem::temp_directory_path() / "line-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for a line");
    folder_ = name;
    own = unix_address(folder_ + "/" + std::filesystem::path(server_).filename().string());
  }
  listener_ = new_socket(own);
  if (bind(listener_, own.get(), own.length) != 0 || listen(listener_, 128) != 0) {
    throw std::runtime_error("a line cannot listen");
  }
  if (folder_.empty()) {
    getsockname(listener_, reinterpret_cast<sockaddr*>(&own.bytes), &own.length);
    port_ = ntohs(reinterpret_cast<sockaddr_in&>(own.bytes).sin_port);
  }
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  thread_ = std::thread([this] { run(); });
}

FaultyProxy::~FaultyProxy() {
  {
    std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  wake();
  thread_.join();
  close(listener_);
  close(wake_);
  if (!folder_.empty()) std::filesystem::remove_all(folder_);
}

void FaultyProxy::wake() const {
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = write(wake_, &one, sizeof one);
}

void FaultyProxy::arm(ProxyFault fault) {
  std::lock_guard lock(mutex_);
  armed_.push_back(std::move(fault));
}

void FaultyProxy::disarm() {
  std::lock_guard lock(mutex_);
  armed_.clear();
}

int FaultyProxy::faults() const {
  std::lock_guard lock(mutex_);
  return faults_;
}

bool FaultyProxy::wait_for(int count) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return faults_ >= count; });
}

void FaultyProxy::cut_all() {
  std::lock_guard lock(mutex_);
  for (const std::unique_ptr<Link>& link : links_) link->is_over = true;
  wake();
}

void FaultyProxy::refuse(bool is_refusing) {
  std::lock_guard lock(mutex_);
  is_refusing_ = is_refusing;
}

int FaultyProxy::connections() const {
  std::lock_guard lock(mutex_);
  return connections_;
}

void FaultyProxy::accept_one() {
  int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) return;
  ++connections_;
  Address there = address_of(server_);
  int server = is_refusing_ ? -1 : socket(there.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // On one machine connecting does not wait.
  if (server < 0 || connect(server, there.get(), there.length) != 0) {
    close(client);
    if (server >= 0) close(server);
    return;
  }
  auto link = std::make_unique<Link>();
  link->up.from = link->down.to = client;
  link->up.to = link->down.from = server;
  link->down.sender = LineEnd::server;
  links_.push_back(std::move(link));
}

void FaultyProxy::happen(Link& link, Way& way, std::string_view rest) {
  ProxyFault fault = *way.met;
  way.met.reset();
  switch (fault.kind) {
    case FaultKind::reset:
      link.is_reset = true;
      [[fallthrough]];
    case FaultKind::cut:
      write_to(link, way);
      link.is_over = true;
      break;
    case FaultKind::half_open:
      write_to(link, way);
      link.is_frozen = true;
      break;
    case FaultKind::swallow:
      way.is_lost = true;
      break;
    case FaultKind::delay:
      way.not_before_ms = monotonic_ms() + fault.delay_ms;
      way.waiting.append(rest);
      break;
    case FaultKind::trickle:
      way.trickle_ms = fault.delay_ms;
      way.waiting.append(rest);
      break;
  }
  ++faults_;
  changed_.notify_all();
}

void FaultyProxy::take(Link& link, Way& way, std::string_view bytes) {
  if (way.is_lost) return;
  if (way.met) {
    size_t length = std::min(way.met->passing, bytes.size());
    way.waiting.append(bytes.substr(0, length));
    way.met->passing -= length;
    if (way.met->passing == 0) happen(link, way, bytes.substr(length));
    return;
  }
  way.held.append(bytes);
  size_t kept = 0;
  for (auto fault = armed_.begin(); fault != armed_.end(); ++fault) {
    if (fault->sender != way.sender) continue;
    size_t begin = way.held.find(fault->at);
    if (begin == std::string::npos) {
      kept = std::max(kept, beginning_of(fault->at, way.held));
      continue;
    }
    way.waiting.append(way.held, 0, begin);
    std::string rest = way.held.substr(begin);
    way.held.clear();
    way.met = *fault;
    armed_.erase(fault);
    return take(link, way, rest);
  }
  way.waiting.append(way.held, 0, way.held.size() - kept);
  way.held.erase(0, way.held.size() - kept);
}

void FaultyProxy::read_from(Link& link, Way& way) {
  char bytes[65536];
  ssize_t count = recv(way.from, bytes, sizeof bytes, MSG_DONTWAIT);
  if (count > 0) return take(link, way, {bytes, static_cast<size_t>(count)});
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count < 0) link.is_over = true;
  way.has_ended = true;
  way.waiting += way.held;
  way.held.clear();
}

void FaultyProxy::write_to(Link& link, Way& way) {
  if (way.waiting.empty() || way.not_before_ms > monotonic_ms()) return;
  size_t max = way.trickle_ms > 0 ? 1 : way.waiting.size();
  ssize_t count = send(way.to, way.waiting.data(), max, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count >= 0) {
    if (way.trickle_ms > 0) way.not_before_ms = monotonic_ms() + way.trickle_ms;
    way.waiting.erase(0, static_cast<size_t>(count));
  } else if (errno != EAGAIN && errno != EINTR) {
    link.is_over = true;
  }
}

void FaultyProxy::run() {
  std::vector<pollfd> polled;
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    polled.assign({{wake_, POLLIN, 0}, {listener_, POLLIN, 0}});
    int wait_ms = -1;
    // Once for both ways: what is due between two looks would be waited for by neither.
    int64_t now_ms = monotonic_ms();
    for (const std::unique_ptr<Link>& link : links_) {
      for (Way* way : {&link->up, &link->down}) {
        Way& back = way == &link->up ? link->down : link->up;
        bool is_late = way->not_before_ms > now_ms;
        bool reads = !way->has_ended && !is_late && way->waiting.size() < waiting_bytes_max;
        bool writes = !back.waiting.empty() && back.not_before_ms <= now_ms;
        short wanted = static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
        polled.push_back({link->is_frozen || wanted == 0 ? -1 : way->from, wanted, 0});
        if (is_late) wait_ms = 1;
      }
    }
    lock.unlock();
    poll(polled.data(), polled.size(), wait_ms);
    lock.lock();
    uint64_t count = 0;
    [[maybe_unused]] ssize_t woken = read(wake_, &count, sizeof count);
    size_t at = 2;
    for (const std::unique_ptr<Link>& link : links_) {
      for (Way* way : {&link->up, &link->down}) {
        if ((polled[at++].revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_from(*link, *way);
      }
      for (Way* way : {&link->up, &link->down}) {
        if (link->is_frozen) continue;
        write_to(*link, *way);
        if (!way->has_ended || !way->waiting.empty() || way->has_told_end) continue;
        shutdown(way->to, SHUT_WR);
        way->has_told_end = true;
      }
      if (link->up.has_told_end && link->down.has_told_end) link->is_over = true;
    }
    links_.remove_if([](const std::unique_ptr<Link>& link) { return link->is_over; });
    if ((polled[1].revents & POLLIN) != 0) accept_one();
  }
}

}  // namespace hostler::testing_support
