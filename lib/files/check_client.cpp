// See lib/files/check_client.h.
#include "lib/files/check_client.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "lib/loop/wait.h"

namespace hostler::files {
namespace {

using Kind = CheckOutcome::Kind;

// The connection, as a coroutine reads and writes it.
class Talk {
 public:
  Talk(loop::Loop& loop, const std::string& path) : fd_(connected(path)) {
    if (fd_ < 0) return;
    watch_ = std::make_unique<loop::FdWatch>(loop, fd_, [this](bool, bool) {
      watch_->watch(false, false);
      ready_.notify();
    });
  }
  ~Talk() {
    watch_.reset();
    if (fd_ >= 0) close(fd_);
  }
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;

  bool is_connected() const { return fd_ >= 0; }

  // False: the peer is gone.
  Task<bool> write(std::string bytes) {
    std::string_view rest = bytes;
    while (!rest.empty()) {
      ssize_t count = send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count > 0) rest.remove_prefix(static_cast<size_t>(count));
      if (count > 0 || (count < 0 && errno == EINTR)) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) co_return false;
      watch_->watch(false, true);
      co_await ready_.wait();
    }
    co_return true;
  }

  // At most so many bytes; empty: the end.
  Task<std::string> read(size_t room) {
    std::string bytes(room, '\0');
    for (;;) {
      ssize_t count = recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
      bool must_wait = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
      if (count < 0 && errno == EINTR) continue;
      if (!must_wait) {
        bytes.resize(count > 0 ? static_cast<size_t>(count) : 0);
        co_return bytes;
      }
      watch_->watch(true, false);
      co_await ready_.wait();
    }
  }

 private:
  static int connected(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path) return -1;
    memcpy(address.sun_path, path.data(), path.size());
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
    close(fd);
    return -1;
  }

  int fd_;
  loop::Signal ready_;
  std::unique_ptr<loop::FdWatch> watch_;
};

CheckOutcome outcome_of(Kind kind) {
  CheckOutcome outcome;
  outcome.kind = kind;
  return outcome;
}

// A peer that is gone may have answered before: what it wrote is still to be read.
Task<bool> send_file(Talk& talk, CheckRequest request, const NextBytes& next) {
  bool is_there = co_await talk.write(request_line(request));
  int64_t left = request.bytes;
  while (left > 0) {
    std::string bytes = co_await next();
    left -= static_cast<int64_t>(bytes.size());
    if (bytes.empty() || left < 0) co_return false;
    if (is_there) is_there = co_await talk.write(std::move(bytes));
    if (!is_there) co_return true;
  }
  co_return true;
}

Task<CheckOutcome> read_answer(Talk& talk, CheckRequest::Kind asked) {
  std::string read;
  size_t end = std::string::npos;
  while (end == std::string::npos && read.size() <= line_bytes_max) {
    std::string more = co_await talk.read(64 << 10);
    if (more.empty()) co_return outcome_of(Kind::broken);
    read += more;
    end = read.find('\n');
  }
  std::optional<CheckAnswer> answer =
      end == std::string::npos ? std::nullopt : answer_of_line(read.substr(0, end));
  if (!answer) co_return outcome_of(Kind::broken);
  CheckAnswer::Kind wanted =
      asked == CheckRequest::Kind::type ? CheckAnswer::Kind::type : CheckAnswer::Kind::image;
  bool is_fitting = answer->kind == wanted || answer->kind == CheckAnswer::Kind::refused;
  if (!is_fitting) co_return outcome_of(Kind::broken);
  CheckOutcome outcome = outcome_of(Kind::answered);
  outcome.derived = read.substr(end + 1);
  size_t bytes = static_cast<size_t>(answer->bytes);
  while (outcome.derived.size() < bytes) {
    std::string more = co_await talk.read(bytes - outcome.derived.size());
    if (more.empty()) co_return outcome_of(Kind::broken);
    outcome.derived += more;
  }
  if (outcome.derived.size() != bytes) co_return outcome_of(Kind::broken);
  outcome.answer = std::move(*answer);
  co_return outcome;
}

Task<CheckOutcome> talk_about(Talk& talk, CheckRequest request, const NextBytes& next) {
  CheckRequest::Kind asked = request.kind;
  bool is_whole = co_await send_file(talk, std::move(request), next);
  if (!is_whole) co_return outcome_of(Kind::gone);
  CheckOutcome outcome = co_await read_answer(talk, asked);
  co_return outcome;
}

}  // namespace

Task<CheckOutcome> check_file(loop::Loop& loop, std::string path, CheckRequest request,
                              const NextBytes& next, int64_t limit_ms) {
  Talk talk(loop, path);
  if (!talk.is_connected()) co_return outcome_of(Kind::away);
  Task<CheckOutcome> talking = talk_about(talk, std::move(request), next);
  std::optional<CheckOutcome> outcome =
      co_await loop::with_timeout(loop, std::move(talking), limit_ms);
  if (!outcome) co_return outcome_of(Kind::late);
  co_return std::move(*outcome);
}

}  // namespace hostler::files
