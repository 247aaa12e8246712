// See lib/files/check_protocol.h.
#include "lib/files/check_protocol.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

namespace hostler::files {
namespace {

constexpr int64_t side_max = 100'000;
constexpr size_t mime_bytes_max = 127;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

std::optional<int64_t> number_of(std::string_view word, int64_t max) {
  int64_t number = 0;
  auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), number);
  bool is_good = fault == std::errc() && end == word.data() + word.size();
  if (!is_good || number < 0 || number > max) return std::nullopt;
  return number;
}

// A type and a subtype of RFC 6838 in lower case.
bool is_mime_type(std::string_view text) {
  size_t slash = text.find('/');
  if (text.size() > mime_bytes_max || slash == 0 || slash >= text.size() - 1) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/' || c == '-' || c == '.' ||
           c == '+' || c == '_';
  });
}

std::optional<CheckAnswer> image_answer(const std::vector<std::string_view>& words) {
  if (words.size() != 5 || !is_image_type(words[1])) return std::nullopt;
  std::optional<int64_t> width = number_of(words[2], side_max);
  std::optional<int64_t> height = number_of(words[3], side_max);
  std::optional<int64_t> bytes = number_of(words[4], derived_bytes_max);
  bool is_good = width && height && bytes && *width > 0 && *height > 0 && *bytes > 0 &&
                 *width * *height <= pixels_max;
  if (!is_good) return std::nullopt;
  return CheckAnswer{.kind = CheckAnswer::Kind::image,
                     .mime_type = std::string(words[1]),
                     .width = *width,
                     .height = *height,
                     .bytes = *bytes,
                     .reason = {}};
}

}  // namespace

bool is_image_type(std::string_view mime_type) {
  return std::find(image_types.begin(), image_types.end(), mime_type) != image_types.end();
}

std::string request_line(const CheckRequest& request) {
  if (request.kind == CheckRequest::Kind::type) return fmt::format("type {}\n", request.bytes);
  return fmt::format("image {} {}\n", request.bytes, request.mime_type);
}

std::string answer_line(const CheckAnswer& answer) {
  switch (answer.kind) {
    case CheckAnswer::Kind::type:
      return fmt::format("type {}\n", answer.mime_type);
    case CheckAnswer::Kind::image:
      return fmt::format("image {} {} {} {}\n", answer.mime_type, answer.width, answer.height,
                         answer.bytes);
    case CheckAnswer::Kind::refused:
      break;
  }
  std::string reason = answer.reason.substr(0, line_bytes_max / 2);
  for (char& c : reason) c = c >= ' ' && c < '\x7f' ? c : '?';
  return fmt::format("refused {}\n", reason);
}

std::optional<CheckRequest> request_of_line(std::string_view line) {
  std::vector<std::string_view> words = words_of(line);
  if (line.size() > line_bytes_max || words.size() < 2) return std::nullopt;
  std::optional<int64_t> bytes = number_of(words[1], checked_bytes_max);
  if (!bytes || *bytes == 0) return std::nullopt;
  if (words[0] == "type" && words.size() == 2) {
    return CheckRequest{CheckRequest::Kind::type, *bytes, {}};
  }
  bool is_image = words[0] == "image" && words.size() == 3 && is_image_type(words[2]);
  if (!is_image) return std::nullopt;
  return CheckRequest{CheckRequest::Kind::image, *bytes, std::string(words[2])};
}

std::optional<CheckAnswer> answer_of_line(std::string_view line) {
  constexpr std::string_view refused = "refused ";
  if (line.size() > line_bytes_max) return std::nullopt;
  if (line.starts_with(refused)) {
    CheckAnswer answer;
    answer.reason = line.substr(refused.size());
    return answer;
  }
  std::vector<std::string_view> words = words_of(line);
  if (words.empty()) return std::nullopt;
  if (words[0] == "image") return image_answer(words);
  if (words[0] != "type" || words.size() != 2 || !is_mime_type(words[1])) return std::nullopt;
  CheckAnswer answer;
  answer.kind = CheckAnswer::Kind::type;
  answer.mime_type = words[1];
  return answer;
}

}  // namespace hostler::files
