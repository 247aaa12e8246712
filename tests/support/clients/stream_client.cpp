// See tests/support/clients/stream_client.h.
#include "tests/support/clients/stream_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

#include "tests/support/eventually.h"

namespace hostler::testing_support {

std::string scgi_text(const ScgiPairs& pairs) {
  std::string text;
  auto add = [&text](const std::string& name, const std::string& value) {
    text.append(name).push_back('\0');
    text.append(value).push_back('\0');
  };
  add("CONTENT_LENGTH", "0");
  add("SCGI", "1");
  for (const auto& [name, value] : pairs) add(name, value);
  return fmt::format("{}:{},", text.size(), text);
}

StreamClient::StreamClient(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path) throw std::runtime_error("long socket path");
  memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error(fmt::format("connect {}: {}", socket_path, strerror(errno)));
  }
}

StreamClient::StreamClient(const std::string& socket_path, const StreamAsk& ask)
    : StreamClient(socket_path) {
  bool is_sent_by_pool = !ask.format.empty();
  std::string uri =
      is_sent_by_pool ? "/v1/any/path" : std::string("/v1/runs/" + ask.run_id + "/events");
  if (!ask.query.empty()) uri += "?" + ask.query;
  ScgiPairs pairs{{"REQUEST_METHOD", "GET"},
                  {"REQUEST_URI", uri},
                  {"QUERY_STRING", ask.query},
                  {"REMOTE_ADDR", ask.peer},
                  {"TRACE_ID", "00000000000000000000000000000abc"}};
  if (!ask.token.empty()) pairs.emplace_back("HTTP_AUTHORIZATION", "Bearer " + ask.token);
  if (!ask.last_event_id.empty()) pairs.emplace_back("HTTP_LAST_EVENT_ID", ask.last_event_id);
  if (is_sent_by_pool) {
    pairs.emplace_back("HOSTLER_RUN", ask.run_id);
    pairs.emplace_back("HOSTLER_FORMAT", ask.format);
  }
  for (const auto& pair : ask.more) pairs.push_back(pair);
  send(scgi_text(pairs));
}

StreamClient::~StreamClient() {
  if (fd_ >= 0) close(fd_);
}

StreamClient::StreamClient(StreamClient&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      is_ended_(other.is_ended_),
      received_(std::move(other.received_)) {}

void StreamClient::send(const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    ssize_t count = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return;  // reading will tell
    sent += static_cast<size_t>(count);
  }
}

void StreamClient::read_some(int wait_ms) {
  pollfd ready{fd_, POLLIN, 0};
  if (is_ended_ || poll(&ready, 1, wait_ms) <= 0) return;
  std::array<char, 64 << 10> bytes;
  ssize_t count = recv(fd_, bytes.data(), bytes.size(), 0);
  if (count <= 0) {
    is_ended_ = true;
  } else {
    received_.append(bytes.data(), static_cast<size_t>(count));
  }
}

bool StreamClient::read_until(const std::string& text) {
  int64_t limit = monotonic_ms() + limit_ms;
  size_t looked = 0;
  for (;;) {
    if (received_.find(text, looked) != std::string::npos) return true;
    looked = received_.size() < text.size() ? 0 : received_.size() - text.size();
    if (is_ended_ || monotonic_ms() >= limit) return false;
    read_some(static_cast<int>(limit - monotonic_ms()));
  }
}

bool StreamClient::read_to_end() {
  int64_t limit = monotonic_ms() + limit_ms;
  while (!is_ended_ && monotonic_ms() < limit) read_some(static_cast<int>(limit - monotonic_ms()));
  return is_ended_;
}

std::string StreamClient::head() const {
  size_t end = received_.find("\r\n\r\n");
  return end == std::string::npos ? "" : received_.substr(0, end + 4);
}

std::string StreamClient::body() const { return received_.substr(head().size()); }

std::string StreamClient::field(const std::string& name) const {
  std::string all = "\r\n" + head();
  size_t at = all.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  at += name.size() + 4;
  return all.substr(at, all.find("\r\n", at) - at);
}

int StreamClient::status() const {
  std::string text = field("Status");
  int status = 0;
  std::from_chars(text.data(), text.data() + text.size(), status);
  return status;
}

}  // namespace hostler::testing_support
