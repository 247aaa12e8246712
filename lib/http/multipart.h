// The parts of a multipart/form-data body (RFC 7578), read as it passes by: only where each part
// begins and ends is kept, so a body of any size takes a few KiB. Used by uploads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hostler::http {

struct MultipartPart {
  std::string name;
  std::optional<std::string> filename;  // as the client sent it: any bytes
  int64_t offset = 0;                   // in the body
  int64_t bytes = 0;
};

// The boundary of a Content-Type; nothing: it is no multipart/form-data, or has no good boundary.
std::optional<std::string> multipart_boundary(std::string_view content_type);

class MultipartReader {
 public:
  static constexpr size_t parts_max = 32;
  static constexpr size_t head_bytes_max = 8 << 10;  // header fields of one part together

  explicit MultipartReader(std::string_view boundary);
  // Pieces of the body in their order, cut anywhere.
  void add(std::string_view bytes);
  // After the last piece. Empty: the parts are whole; else what is wrong, in a sentence.
  std::string finish();
  const std::vector<MultipartPart>& parts() const { return parts_; }

 private:
  enum class State { body, delimiter_end, head, done, bad };
  void go_on();
  bool skip_to_delimiter();
  bool read_delimiter_end();
  bool read_head();
  void drop(size_t bytes);
  bool refuse(std::string fault);

  std::string delimiter_;  // CR LF, two hyphens, the boundary
  std::string window_;     // bytes that are not understood yet
  int64_t at_ = -2;        // where the window begins in the body, which begins with a CR LF for us
  State state_ = State::body;
  bool is_in_part_ = false;  // else before the first one
  std::vector<MultipartPart> parts_;
  std::string fault_;
};

}  // namespace hostler::http
