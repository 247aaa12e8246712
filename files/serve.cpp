// See files/serve.h.
#include "files/serve.h"

#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "files/image.h"
#include "lib/files/check_protocol.h"

namespace hostler::files {
namespace {

constexpr int exit_bad_request = 65;  // sysexits.h
constexpr int exit_peer_gone = 74;

// Bytes read, 0 at the end or after a fault.
size_t read_some(int fd, char* into, size_t room) {
  ssize_t count = 0;
  do {
    count = read(fd, into, room);
  } while (count < 0 && errno == EINTR);
  return count > 0 ? static_cast<size_t>(count) : 0;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

// The request's line, one byte at a time: what follows it belongs to the file.
std::optional<CheckRequest> read_request(int fd) {
  std::string line;
  char c = 0;
  while (line.size() <= line_bytes_max && read_some(fd, &c, 1) == 1) {
    if (c == '\n') return request_of_line(line);
    line += c;
  }
  return std::nullopt;
}

bool read_file(int fd, int64_t bytes, std::string& file) {
  file.resize(static_cast<size_t>(bytes));
  size_t done = 0;
  while (done < file.size()) {
    size_t count = read_some(fd, file.data() + done, file.size() - done);
    if (count == 0) return false;
    done += count;
  }
  return true;
}

CheckAnswer answer_of(const DerivedImage& image) {
  CheckAnswer answer;
  answer.reason = image.fault;
  if (!image.fault.empty()) return answer;
  answer.kind = CheckAnswer::Kind::image;
  answer.mime_type = image.mime_type;
  answer.width = image.width;
  answer.height = image.height;
  answer.bytes = static_cast<int64_t>(image.bytes.size());
  return answer;
}

}  // namespace

int serve_one(int fd, const FileTypes& types) {
  std::optional<CheckRequest> request = read_request(fd);
  if (!request) return exit_bad_request;
  std::string file;
  if (!read_file(fd, request->bytes, file)) return exit_peer_gone;
  CheckAnswer answer;
  DerivedImage image;
  if (request->kind == CheckRequest::Kind::type) {
    answer.kind = CheckAnswer::Kind::type;
    answer.mime_type = types.type_of(file);
  } else {
    image = derive_image(file, request->mime_type);
    answer = answer_of(image);
  }
  bool is_written = write_all(fd, answer_line(answer)) && write_all(fd, image.bytes);
  return is_written ? 0 : exit_peer_gone;
}

}  // namespace hostler::files
