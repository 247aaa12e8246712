// The listener of http_server.h: accepts, keeps the connections, removes the closed ones.
#include "dev/fake-model/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "dev/fake-model/http_connection.h"
#include "lib/log.h"

namespace hostler::fake_model {
namespace {

constexpr int backlog = 4096;
constexpr int accepts_a_turn_max = 256;
constexpr int64_t accept_again_ms = 100;

}  // namespace

HttpServer::HttpServer(loop::Loop& loop, ServerHooks hooks)
    : loop_(loop), hooks_(std::move(hooks)), accept_again_(loop, [this] {
        if (watch_) watch_->watch(true, false);
      }) {}

HttpServer::~HttpServer() { stop(); }

uint16_t HttpServer::listen(uint16_t port) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener_ < 0) return 0;
  int on = 1;
  ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  sockaddr* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, generic, size) != 0 || ::listen(listener_, backlog) != 0 ||
      ::getsockname(listener_, generic, &size) != 0) {
    int cause = errno;
    ::close(std::exchange(listener_, -1));
    errno = cause;
    return 0;
  }
  watch_ = std::make_unique<loop::FdWatch>(loop_, listener_, [this](bool, bool) { accept_all(); });
  watch_->watch(true, false);
  return ntohs(address.sin_port);
}

void HttpServer::stop() {
  accept_again_.cancel();
  watch_.reset();
  if (listener_ >= 0) ::close(std::exchange(listener_, -1));
  connections_.clear();
}

void HttpServer::accept_all() {
  for (int i = 0; i < accepts_a_turn_max; ++i) {
    int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      log_warning("accept_failed", {{"cause", std::to_string(errno)}});
      watch_->watch(false, false);
      accept_again_.restart(accept_again_ms);
      return;
    }
    int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    uint64_t id = ++connections_made_;
    connections_.emplace(id, std::make_unique<Connection>(*this, id, fd));
  }
}

void HttpServer::remove_later(uint64_t id) {
  loop_.defer([this, id] { connections_.erase(id); });
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    case 529:
      return "Overloaded";
    default:
      return "Answer";
  }
}

}  // namespace hostler::fake_model
