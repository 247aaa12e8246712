// Handshake of a client on the socket of outbound calls, before its bytes pass through: SOCKS 5
// (RFC 1928), no authentication, CONNECT only. Strict, incremental, never more than 600 bytes.
// Pure: it knows no destination and opens none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hostler::runner {

// Where to: a name in lower case without a dot at its end, or an address as IpAddress writes it.
struct SocksTarget {
  std::string host;
  int port = 0;

  std::string text() const;  // host:port, IPv6 in brackets
  bool operator==(const SocksTarget&) const = default;
};

// REP of RFC 1928 section 6.
enum class SocksReply : uint8_t {
  succeeded = 0,
  failed = 1,
  not_allowed = 2,
  network_unreachable = 3,
  host_unreachable = 4,
  refused = 5,
  bad_command = 7,
  bad_address_type = 8,
};

// The answer to a request. The address in it is empty: nobody needs ours.
std::string socks_reply(SocksReply reply);

class SocksReader {
 public:
  SocksReader() = default;
  SocksReader(const SocksReader&) = delete;
  SocksReader& operator=(const SocksReader&) = delete;

  enum class State { greeting, request, whole, broken };

  // Takes what came, in pieces of any size. After whole or broken nothing further is looked at. A
  // client waits for each answer, so bytes after the request break it.
  State take(std::string_view bytes);
  // Whether the greeting was good: then greeting_answer goes before anything else.
  bool has_greeted() const { return has_greeted_; }
  // When whole.
  const SocksTarget& target() const { return target_; }
  // When broken: what is wrong, and what to say before closing; empty: nothing.
  const char* fault() const { return fault_; }
  const std::string& last_words() const { return last_words_; }

  static constexpr std::string_view greeting_answer{"\x05\x00", 2};

 private:
  State fail(const char* why, std::string last_words = {});
  State read_greeting();
  State read_request();
  State read_target(size_t host_at, size_t host_bytes, bool is_name);

  State state_ = State::greeting;
  bool has_greeted_ = false;
  std::string bytes_;
  SocksTarget target_;
  const char* fault_ = "";
  std::string last_words_;
};

}  // namespace hostler::runner
