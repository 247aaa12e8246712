// Forms of uploads: however the body is cut into pieces, its parts are the same, lie within it, and
// do not overlap. And answers of hostler-files: what is taken is within its bounds, and the same
// when it is written again.
#include "lib/files/check_protocol.h"
#include "lib/http/multipart.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

struct Read {
  std::string fault;
  std::vector<http::MultipartPart> parts;
};

Read read_in_pieces(std::string_view body, size_t piece) {
  http::MultipartReader reader("X");
  for (size_t at = 0; at < body.size(); at += piece) reader.add(body.substr(at, piece));
  std::string fault = reader.finish();
  return {std::move(fault), reader.parts()};
}

void check_form(std::string_view body) {
  Read whole = read_in_pieces(body, body.size() + 1);
  for (size_t piece : {1U, 2U, 7U}) {
    Read cut = read_in_pieces(body, piece);
    require(cut.fault.empty() == whole.fault.empty(), "cuts do not decide whether a form is good");
    if (!cut.fault.empty()) continue;
    require(cut.parts.size() == whole.parts.size(), "there are as many parts");
    for (size_t i = 0; i < cut.parts.size(); ++i) {
      require(cut.parts[i].offset == whole.parts[i].offset, "a part begins at the same place");
      require(cut.parts[i].bytes == whole.parts[i].bytes, "a part has the same length");
      require(cut.parts[i].name == whole.parts[i].name, "a part has the same name");
    }
  }
  if (!whole.fault.empty()) return;
  int64_t end = 0;
  for (const http::MultipartPart& part : whole.parts) {
    require(part.offset >= end && part.bytes >= 0, "parts follow each other");
    end = part.offset + part.bytes;
  }
  require(end <= static_cast<int64_t>(body.size()), "parts lie within the body");
}

void check_answer(std::string_view line) {
  std::optional<files::CheckAnswer> answer = files::answer_of_line(line);
  if (!answer) return;
  require(answer->bytes >= 0 && answer->bytes <= files::derived_bytes_max, "bytes are bounded");
  require(answer->width * answer->height <= files::pixels_max, "pixels are bounded");
  std::string written = files::answer_line(*answer);
  std::optional<files::CheckAnswer> again =
      files::answer_of_line(std::string_view(written).substr(0, written.size() - 1));
  require(again && again->kind == answer->kind && again->mime_type == answer->mime_type,
          "written again it is the same answer");
}

}  // namespace

void multipart(std::string_view input) {
  check_form(input);
  static_cast<void>(http::multipart_boundary(input));
  std::string_view line = input.substr(0, input.find('\n'));
  check_answer(line);
  static_cast<void>(files::request_of_line(line));
}

}  // namespace hostler::fuzz
