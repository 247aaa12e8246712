// Messages between hostler-files and the pool or the daemon about one file. One connection carries
// one request and one answer.
//
//   request: a line "type BYTES", or "image BYTES TYPE", then so many bytes of the file
//   answer:  a line "type TYPE", "image TYPE WIDTH HEIGHT BYTES" followed by so many bytes, or
//            "refused WORDS"
//
// The program that answers handles bytes of strangers, so its answer is read as strictly as theirs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hostler::files {

// Most bytes of a derived image: in base64 it fits the 5 MiB that every provider takes.
constexpr int64_t derived_bytes_max = int64_t{7} << 19;  // 3.5 MiB
// Longest side of a derived image, which no provider scales down further.
constexpr int derived_side_max = 1568;
constexpr int64_t pixels_max = 50'000'000;
// Most bytes of a file that hostler-files reads.
constexpr int64_t checked_bytes_max = int64_t{256} << 20;
constexpr size_t line_bytes_max = 512;

struct CheckRequest {
  enum class Kind { type, image };
  Kind kind = Kind::type;
  int64_t bytes = 0;
  std::string mime_type;  // of an image
};

struct CheckAnswer {
  enum class Kind { type, image, refused };
  Kind kind = Kind::refused;
  std::string mime_type;
  int64_t width = 0;  // of the upload, turned upright
  int64_t height = 0;
  int64_t bytes = 0;   // of the derived image, which follow the line
  std::string reason;  // why the file is refused, for the log
};

std::string request_line(const CheckRequest& request);
std::string answer_line(const CheckAnswer& answer);
// The line without its line feed; nothing when it has another form or exceeds a bound.
std::optional<CheckRequest> request_of_line(std::string_view line);
std::optional<CheckAnswer> answer_of_line(std::string_view line);

// Types of images that Hostler takes, in the order of its documents.
inline constexpr std::array<std::string_view, 4> image_types = {"image/png", "image/jpeg",
                                                                "image/gif", "image/webp"};
bool is_image_type(std::string_view mime_type);

}  // namespace hostler::files
