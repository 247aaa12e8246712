// One request as nginx sends it over SCGI (python.ca/scgi/protocol.txt): a netstring of pairs, then
// a body that nobody asks for. Strict, incremental, never more than 64 KiB. It knows no route.
//
//   request := length ":" pairs ","        length counts the bytes of pairs
//   pairs   := (name NUL value NUL)+       CONTENT_LENGTH comes first; SCGI is "1"
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hostler::relay {

// The parameters the relay knows; absent ones are empty. Views into the ScgiReader that read them.
struct ScgiRequest {
  std::string_view method;  // REQUEST_METHOD
  std::string_view uri;     // REQUEST_URI: path and query as in the request line
  std::string_view authorization;
  std::string_view last_event_id;
  std::string_view org_id;  // X-Org-Id
  std::string_view origin;
  std::string_view peer;  // REMOTE_ADDR
  std::string_view forwarded_for;
  std::string_view connecting_ip;
  std::string_view traceparent;
  std::string_view user_agent;
  std::string_view trace_id;
  // The run and the format that the pool sent the request here for; empty: a client asked for the
  // event stream by its path.
  std::string_view run_id;
  std::string_view format;
  bool is_tls = false;  // HTTPS is on
};

class ScgiReader {
 public:
  ScgiReader() = default;
  ScgiReader(const ScgiReader&) = delete;
  ScgiReader& operator=(const ScgiReader&) = delete;

  enum class State { more, whole, broken };

  // Takes what came, in pieces of any size. After whole or broken nothing further is looked at.
  State take(std::string_view bytes);
  // When whole.
  const ScgiRequest& request() const { return request_; }
  // When broken: what is wrong.
  const char* fault() const { return fault_; }

  static constexpr size_t pairs_bytes_max = 64 << 10;

 private:
  State fail(const char* why);
  bool take_length(std::string_view& bytes);
  State read_pairs();
  bool store(std::string_view name, std::string_view value);

  State state_ = State::more;
  size_t digits_ = 0;
  size_t pairs_bytes_ = 0;
  bool has_length_ = false;
  std::string pairs_;  // with the closing comma
  ScgiRequest request_;
  unsigned seen_ = 0;  // which parameters came, by their row
  const char* fault_ = "";
};

}  // namespace hostler::relay
