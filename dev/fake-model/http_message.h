// HTTP/1.1 requests read from a byte stream, for the fake model's server. Bounded: heads up to
// 64 KiB, bodies up to 8 MiB. Never answers anything itself; a refusal is a status and a sentence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hostler::fake_model {

constexpr size_t head_bytes_max = 64 * 1024;
constexpr size_t body_bytes_max = 8 * 1024 * 1024;

struct HeaderField {
  std::string name;  // lower case in requests, as written in answers
  std::string value;
};

struct HttpRequest {
  std::string method;
  std::string target;  // as sent
  std::string path;    // the target up to the question mark, not decoded
  std::string query;   // after it, not decoded
  std::vector<HeaderField> fields;
  std::string body;
  bool keep_alive = true;

  // The first field of that name (lower case), or nothing.
  std::optional<std::string_view> field(std::string_view name) const;
};

// %41 becomes A; a percent sign without two hex digits stays as it is.
std::string percent_decoded(std::string_view text);
// The decoded value of a query parameter ('+' is a space), or nothing.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

class RequestReader {
 public:
  enum class State { needs_more, complete, refused };

  void feed(std::string_view bytes) { buffer_.append(bytes); }
  // Takes the next whole request off the buffer. After `refused` the connection must be closed.
  State next(HttpRequest& request);
  size_t buffered_bytes() const { return buffer_.size() - taken_; }

  // True once per request whose head asks for 100 Continue and whose body has not come yet.
  bool take_continue();

  int refusal_status() const { return refusal_status_; }
  const std::string& refusal() const { return refusal_; }

 private:
  enum class Part { head, sized_body, chunk_size, chunk_bytes, chunk_end, trailers };

  State refuse(int status, std::string why);
  // Each answers needs_more, or complete when its part has been read and part_ says what follows.
  State read_head();
  State read_head_lines(std::string_view head);
  State choose_body();
  State read_body();
  State read_chunk_size();
  State read_chunk_bytes();
  State read_chunk_end();
  State read_trailers();
  std::optional<std::string_view> take_line(size_t bytes_max);

  std::string buffer_;
  size_t taken_ = 0;    // bytes of buffer_ that are used up
  size_t scanned_ = 0;  // bytes of the head already searched for its end
  Part part_ = Part::head;
  HttpRequest request_;
  size_t missing_bytes_ = 0;  // of the sized body or of this chunk
  bool whole_ = false;
  bool wants_continue_ = false;
  int refusal_status_ = 0;
  std::string refusal_;
};

}  // namespace hostler::fake_model
