// One short HTTP/1.1 exchange a connection; see lib/program/metrics_server.h.
#include "lib/program/metrics_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

namespace hostler::program {

class MetricsServer::Connection {
 public:
  Connection(MetricsServer& server, int fd)
      : server_(server),
        fd_(fd),
        watch_(server.loop_, fd, [this](bool, bool) { advance(); }),
        limit_(server.loop_, [this] { server_.forget(this); }) {
    watch_.watch(true, false);
    limit_.restart(connection_limit_ms);
  }
  ~Connection() {
    watch_.watch(false, false);
    close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

 private:
  void advance() {
    if (answer_.empty()) {
      read_request();
    } else {
      write_answer();
    }
  }

  void read_request() {
    char buffer[4096];
    ssize_t count = read(fd_, buffer, sizeof buffer);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
      server_.forget(this);
      return;
    }
    request_.append(buffer, static_cast<size_t>(count));
    bool is_whole = request_.find("\r\n\r\n") != std::string::npos;
    if (!is_whole && request_.size() < request_bytes_max) return;
    bool is_get = is_whole && request_.starts_with("GET ");
    std::string body = is_get ? server_.text_() : "Only GET is supported here.\n";
    answer_ = fmt::format(
        "HTTP/1.1 {}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
        "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
        is_get ? "200 OK" : "405 Method Not Allowed\r\nAllow: GET", body.size(), body);
    write_answer();
  }

  void write_answer() {
    while (written_ < answer_.size()) {
      ssize_t count = send(fd_, answer_.data() + written_, answer_.size() - written_, MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) {
        watch_.watch(false, true);
        return;
      }
      if (count <= 0) break;
      written_ += static_cast<size_t>(count);
    }
    server_.forget(this);
  }

  MetricsServer& server_;
  int fd_;
  std::string request_;
  std::string answer_;
  size_t written_ = 0;
  loop::FdWatch watch_;
  loop::Timer limit_;
};

MetricsServer::MetricsServer(loop::Loop& loop, int listen_fd, std::function<std::string()> text)
    : loop_(loop),
      listen_fd_(listen_fd),
      text_(std::move(text)),
      again_(loop, [this] { watch_->watch(true, false); }) {
  watch_ =
      std::make_unique<loop::FdWatch>(loop_, listen_fd_, [this](bool, bool) { accept_some(); });
  watch_->watch(true, false);
}

MetricsServer::~MetricsServer() {
  connections_.clear();
  watch_.reset();
  close(listen_fd_);
}

void MetricsServer::accept_some() {
  while (connections_.size() < connections_max) {
    int fd = accept4(listen_fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      connections_.push_back(std::make_unique<Connection>(*this, fd));
      continue;
    }
    if (errno != EMFILE && errno != ENFILE) return;
    // Waiting clients would make the loop turn until a descriptor is free.
    again_.restart(accept_pause_ms);
    break;
  }
  watch_->watch(false, false);
}

// The connection is freed on the next turn, never from inside its own callback.
void MetricsServer::forget(Connection* connection) {
  auto found = std::find_if(connections_.begin(), connections_.end(),
                            [connection](const auto& owned) { return owned.get() == connection; });
  if (found == connections_.end()) return;
  std::shared_ptr<Connection> dying = std::move(*found);
  connections_.erase(found);
  loop_.defer([dying] {});
  watch_->watch(true, false);
}

}  // namespace hostler::program
