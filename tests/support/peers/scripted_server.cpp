// Blocking sockets on threads. See tests/support/peers/scripted_server.h.
#include "tests/support/peers/scripted_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstring>

namespace hostler::testing_support {
namespace {

int listen_on(const std::string& address, int& port) {
  bool is_v6 = address.find(':') != std::string::npos;
  int fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  inet_pton(AF_INET, address.c_str(), &v4.sin_addr);
  inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr);
  sockaddr* bound = is_v6 ? reinterpret_cast<sockaddr*>(&v6) : reinterpret_cast<sockaddr*>(&v4);
  socklen_t length = is_v6 ? sizeof v6 : sizeof v4;
  if (bind(fd, bound, length) != 0 || listen(fd, 128) != 0) {
    close(fd);
    return -1;
  }
  getsockname(fd, bound, &length);
  port = ntohs(is_v6 ? v6.sin6_port : v4.sin_port);
  return fd;
}

size_t content_length(std::string_view head) {
  size_t at = head.find("Content-Length: ");
  size_t length = 0;
  if (at == std::string_view::npos) return 0;
  std::string_view digits = head.substr(at + 16);
  std::from_chars(digits.data(), digits.data() + digits.size(), length);
  return length;
}

}  // namespace

std::string Peer::read_request() {
  while (true) {
    size_t head_end = pending_.find("\r\n\r\n");
    if (head_end != std::string::npos) {
      size_t length = head_end + 4 + content_length(std::string_view(pending_).substr(0, head_end));
      if (pending_.size() >= length) {
        std::string request = pending_.substr(0, length);
        pending_.erase(0, length);
        return request;
      }
    }
    char bytes[16384];
    ssize_t count = recv(fd_, bytes, sizeof bytes, 0);
    if (count <= 0) return {};
    pending_.append(bytes, static_cast<size_t>(count));
  }
}

bool Peer::send(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

bool Peer::answer(std::string_view body, std::string_view more_fields) {
  std::string head = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  return send(head + std::string(more_fields) + "\r\n" + std::string(body));
}

void Peer::wait_for_close() {
  char bytes[4096];
  while (recv(fd_, bytes, sizeof bytes, 0) > 0) {
  }
}

void Peer::pause(int milliseconds) {
  pollfd watched{fd_, POLLIN, 0};
  poll(&watched, 1, milliseconds);
}

void Peer::reset() {
  linger now{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

ScriptedServer::ScriptedServer(std::function<void(Peer&)> script, std::string address)
    : script_(std::move(script)), address_(std::move(address)) {
  listener_ = listen_on(address_, port_);
  acceptor_ = std::thread([this] { accept_all(); });
}

ScriptedServer::~ScriptedServer() {
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (int fd : open_) shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& peer : peers_) peer.join();
  close(listener_);
}

std::string ScriptedServer::url(std::string_view path) const {
  bool is_v6 = address_.find(':') != std::string::npos;
  std::string host = is_v6 ? "[" + address_ + "]" : address_;
  return "http://" + host + ":" + std::to_string(port_) + std::string(path);
}

void ScriptedServer::accept_all() {
  while (true) {
    int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    int number = ++connections_;
    std::lock_guard<std::mutex> lock(mutex_);
    open_.push_back(fd);
    peers_.emplace_back([this, fd, number] { serve(fd, number); });
  }
}

void ScriptedServer::serve(int fd, int number) {
  Peer peer(fd, number);
  script_(peer);
  std::lock_guard<std::mutex> lock(mutex_);
  std::erase(open_, fd);
  close(fd);
  ++ended_;
  changed_.notify_all();
}

bool ScriptedServer::wait_for_ended(int count) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return ended_ >= count; });
}

Canary::Canary(std::string address) : listener_(listen_on(address, port_)) {
  if (listener_ >= 0) fcntl(listener_, F_SETFL, O_NONBLOCK);
}

Canary::~Canary() {
  if (listener_ >= 0) close(listener_);
}

bool Canary::was_touched() {
  if (listener_ < 0) return false;
  int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return false;
  close(fd);
  return true;
}

}  // namespace hostler::testing_support
