// A client of the relay on its socket, as nginx would be, for tests: sends one SCGI request, then
// reads what comes. Every wait has a limit and fails the test instead of hanging it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/clients/event_stream.h"

namespace hostler::testing_support {

using ScgiPairs = std::vector<std::pair<std::string, std::string>>;

// The bytes of a request; CONTENT_LENGTH and SCGI are put in front.
std::string scgi_text(const ScgiPairs& pairs);

struct StreamAsk {
  std::string run_id;
  std::string token;
  std::string query;  // behind the question mark
  std::string last_event_id;
  ScgiPairs more;
  std::string peer = "192.0.2.7";
  std::string format =
      {};  // as nginx names it when the pool sent the request on; empty: it did not
};

class StreamClient {
 public:
  explicit StreamClient(const std::string& socket_path);
  StreamClient(const std::string& socket_path, const StreamAsk& ask);
  ~StreamClient();
  StreamClient(StreamClient&& other) noexcept;
  StreamClient& operator=(StreamClient&&) = delete;

  void send(const std::string& bytes);
  // Reads until the text has come (anywhere in what was received): false when the stream ended or
  // the limit passed first.
  bool read_until(const std::string& text);
  // Reads to the end of the stream: false when it did not come within the limit.
  bool read_to_end();
  // Reads what is there or comes within the time; 0: only what is there.
  void read_some(int wait_ms);
  bool is_ended() const { return is_ended_; }

  const std::string& received() const { return received_; }
  std::string head() const;  // with its empty line; "" while incomplete
  std::string body() const;
  int status() const;
  // Returns what follows the name and a colon in the head; "" for none.
  std::string field(const std::string& name) const;
  EventStream stream() const { return {body(), status()}; }
  std::vector<int64_t> seqs() const { return stream().seqs(); }
  std::string frames() const { return stream().frames(); }

  static constexpr int limit_ms = 20'000;

 private:
  int fd_ = -1;
  bool is_ended_ = false;
  std::string received_;
};

}  // namespace hostler::testing_support
