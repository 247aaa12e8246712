// See fastcgi_client.h.
#include "tests/support/clients/fastcgi_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/clients/stream_client.h"

namespace hostler::testing_support {

using std::string_literals::operator""s;

namespace {

constexpr char end_request = 3;

size_t byte_at(const std::string& bytes, size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

}  // namespace

std::string fastcgi_record(char type, const std::string& content) {
  std::string bytes = "\x01"s + type + "\x00\x01"s;
  bytes += static_cast<char>(content.size() >> 8);
  bytes += static_cast<char>(content.size());
  return bytes + "\x00\x00"s + content;
}

std::string fastcgi_text(const std::string& path, const std::string& token,
                         const std::string& method) {
  ScgiPairs pairs = {{"REQUEST_METHOD", method},
                     {"REQUEST_URI", path},
                     {"SERVER_PROTOCOL", "HTTP/1.1"},
                     {"HTTPS", "on"},
                     {"REMOTE_ADDR", "192.0.2.7"}};
  if (!token.empty()) pairs.emplace_back("HTTP_AUTHORIZATION", "Bearer " + token);
  std::string params;
  for (const auto& [name, value] : pairs) {
    params += static_cast<char>(name.size());
    params += static_cast<char>(value.size());
    params += name + value;
  }
  return fastcgi_record(1, "\x00\x01\x01\x00\x00\x00\x00\x00"s) + fastcgi_record(4, params) +
         fastcgi_record(4, "") + fastcgi_record(5, "");
}

FastcgiClient::FastcgiClient(const std::string& socket_path)
    : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  timeval limit{.tv_sec = 20, .tv_usec = 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
}

FastcgiClient::~FastcgiClient() { close(fd_); }

void FastcgiClient::send(const std::string& bytes) const {
  ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

bool FastcgiClient::read(std::string& into, size_t size) const {
  std::string bytes(size, '\0');
  bool is_whole =
      size == 0 || recv(fd_, bytes.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size);
  if (is_whole) into += bytes;
  return is_whole;
}

std::string FastcgiClient::answer() {
  std::string text;
  for (std::string head; read(head, 8); head.clear()) {
    size_t size = byte_at(head, 4) * 256 + byte_at(head, 5) + byte_at(head, 6);
    if (!read(text, size) || head[1] == end_request) break;
  }
  return text;
}

bool FastcgiClient::ends() {
  char byte = 0;
  return recv(fd_, &byte, 1, 0) == 0;
}

}  // namespace hostler::testing_support
