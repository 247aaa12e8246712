// SOCKS 5 read; see runner/egress/socks_request.h.
#include "runner/egress/socks_request.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/ascii.h"
#include "lib/net/address_guard.h"

namespace hostler::runner {
namespace {

constexpr uint8_t version = 5;
constexpr uint8_t no_authentication = 0;
constexpr uint8_t command_connect = 1;
constexpr uint8_t type_v4 = 1;
constexpr uint8_t type_name = 3;
constexpr uint8_t type_v6 = 4;
constexpr size_t head_bytes = 4;  // version, command, reserved, type of the address
constexpr size_t port_bytes = 2;
constexpr std::string_view no_method{"\x05\xff", 2};

uint8_t byte_at(std::string_view bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }

// Accepts only letters of host names. Others would confuse a reader of the log.
bool is_host_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  });
}

}  // namespace

std::string SocksTarget::text() const {
  bool is_v6 = host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string socks_reply(SocksReply reply) {
  std::string bytes("\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00", 10);
  bytes[1] = static_cast<char>(reply);
  return bytes;
}

SocksReader::State SocksReader::fail(const char* why, std::string last_words) {
  fault_ = why;
  last_words_ = std::move(last_words);
  return state_ = State::broken;
}

SocksReader::State SocksReader::take(std::string_view bytes) {
  constexpr size_t bytes_max = 600;  // of a greeting and a request, 257 and 262
  if (state_ == State::whole || state_ == State::broken) return state_;
  if (bytes_.size() + bytes.size() > bytes_max) return fail("more bytes than a request may have");
  bytes_ += bytes;
  if (state_ == State::greeting) read_greeting();
  if (state_ == State::request) read_request();
  return state_;
}

// version, count, that many methods
SocksReader::State SocksReader::read_greeting() {
  if (!bytes_.empty() && byte_at(bytes_, 0) != version) return fail("not SOCKS 5");
  if (bytes_.size() < 2) return state_;
  size_t methods = byte_at(bytes_, 1);
  if (bytes_.size() < 2 + methods) return state_;
  if (bytes_.find(static_cast<char>(no_authentication), 2) >= 2 + methods) {
    return fail("the client wants a login", std::string(no_method));
  }
  bytes_.erase(0, 2 + methods);
  has_greeted_ = true;
  return state_ = State::request;
}

SocksReader::State SocksReader::read_request() {
  if (!bytes_.empty() && byte_at(bytes_, 0) != version) return fail("not SOCKS 5");
  if (bytes_.size() < head_bytes + 1) return state_;
  if (byte_at(bytes_, 1) != command_connect) {
    return fail("a command other than CONNECT", socks_reply(SocksReply::bad_command));
  }
  switch (byte_at(bytes_, 3)) {
    case type_v4:
      return read_target(head_bytes, 4, false);
    case type_v6:
      return read_target(head_bytes, 16, false);
    case type_name:
      return read_target(head_bytes + 1, byte_at(bytes_, head_bytes), true);
    default:
      return fail("an unknown type of address", socks_reply(SocksReply::bad_address_type));
  }
}

SocksReader::State SocksReader::read_target(size_t host_at, size_t host_bytes, bool is_name) {
  size_t port_at = host_at + host_bytes;
  if (bytes_.size() < port_at + port_bytes) return state_;
  if (bytes_.size() > port_at + port_bytes) return fail("bytes after the request");
  std::string_view host = std::string_view(bytes_).substr(host_at, host_bytes);
  if (is_name) {
    target_.host = ascii::lower_case(host);
    if (target_.host.ends_with('.')) target_.host.pop_back();
    if (!is_host_name(target_.host)) {
      return fail("not a name of a host", socks_reply(SocksReply::not_allowed));
    }
  } else {
    net::IpAddress address;
    address.is_v4 = host_bytes == 4;
    std::copy(host.begin(), host.end(), reinterpret_cast<char*>(address.bytes.data()));
    target_.host = address.text();
  }
  target_.port = byte_at(bytes_, port_at) << 8 | byte_at(bytes_, port_at + 1);
  return state_ = State::whole;
}

}  // namespace hostler::runner
