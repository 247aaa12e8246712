// Questions and answers are datagrams of a socket pair; see fcgi/password/password_hasher.h.
#include "fcgi/password/password_hasher.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cstring>
#include <string_view>

#include "lib/error.h"
#include "lib/log.h"

namespace hostler {
namespace {

// A question: head, password, stored hash. An answer: its number, then what was found out: a new
// hash, or one of the words below. Empty: there was no memory.
struct QuestionHead {
  uint32_t number;
  uint32_t password_bytes;
};
constexpr size_t question_bytes_max = 16 << 10;
constexpr size_t answer_bytes_max = 1024;
constexpr std::string_view no_match = "no match";
constexpr std::string_view match = "match";
constexpr std::string_view match_of_old = "match, of old parameters";

// Yields to everybody on the machine, for kernels with autogroups and for others. If this is
// refused, hashing continues anyway.
void step_back(int niceness) {
  setsid();
  setpriority(PRIO_PROCESS, 0, niceness);
  int group = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
  if (group < 0) return;
  std::string text = std::to_string(niceness);
  ssize_t written = write(group, text.data(), text.size());
  static_cast<void>(written);
  close(group);
}

std::string work(const std::string& password, const std::string& stored) {
  if (stored.empty()) return account::hash_password(password).value_or("");
  std::optional<account::PasswordCheck> checked = account::check_password(password, stored);
  if (!checked) return "";
  return std::string(!checked->matches ? no_match : checked->needs_rehash ? match_of_old : match);
}

// The child. It ends when the worker closes its end, by intention or by death; a signal for the
// whole pool must not end it before the worker's last request has its answer.
[[noreturn]] void serve(int fd, int niceness) {
  dup2(fd, STDERR_FILENO + 1);
  fd = STDERR_FILENO + 1;
  close_range(static_cast<unsigned>(fd) + 1, ~0U, 0);
  for (int number : {SIGTERM, SIGINT, SIGHUP}) signal(number, SIG_IGN);
  prctl(PR_SET_NAME, "hostler-hasher");
  step_back(niceness);
  std::array<char, question_bytes_max> bytes;
  for (;;) {
    ssize_t count = recv(fd, bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    QuestionHead head;
    if (count < static_cast<ssize_t>(sizeof head)) _exit(0);
    std::memcpy(&head, bytes.data(), sizeof head);
    std::string_view rest(bytes.data() + sizeof head, static_cast<size_t>(count) - sizeof head);
    std::string password(rest.substr(0, head.password_bytes));
    std::string answer(reinterpret_cast<const char*>(&head.number), sizeof head.number);
    answer += work(password, std::string(rest.substr(password.size())));
    explicit_bzero(password.data(), password.size());
    explicit_bzero(bytes.data(), static_cast<size_t>(count));
    send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
  }
}

Error exit_error() {
  return Error(ErrorCode::overload_busy, {}, "the process that hashes passwords is lost");
}

}  // namespace

PasswordHasher::PasswordHasher(loop::Loop& loop, int niceness) {
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw Error(ErrorCode::internal_error, {}, "no socket pair for the hasher");
  }
  pid_ = fork();
  if (pid_ == 0) serve(ends[1], niceness);
  close(ends[1]);
  socket_ = ends[0];
  if (pid_ < 0) {
    close(socket_);
    throw Error(ErrorCode::internal_error, {}, "no process for the hasher");
  }
  watch_.emplace(loop, socket_, [this](bool, bool) { read_answers(); });
  watch_->watch(true, false);
}

PasswordHasher::~PasswordHasher() {
  watch_.reset();
  close(socket_);
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

Task<std::string> PasswordHasher::hash(std::string password) {
  std::string hashed = co_await ask(std::move(password), "");
  co_return hashed;
}

Task<account::PasswordCheck> PasswordHasher::check(std::string password, std::string stored) {
  assert(!stored.empty());
  std::string answer = co_await ask(std::move(password), std::move(stored));
  co_return account::PasswordCheck{answer != no_match, answer == match_of_old};
}

Task<std::string> PasswordHasher::ask(std::string password, std::string stored) {
  QuestionHead head{++asked_, static_cast<uint32_t>(password.size())};
  std::string question(reinterpret_cast<const char*>(&head), sizeof head);
  question += password;
  question += stored;
  assert(question.size() <= question_bytes_max);
  if (has_exited_) throw exit_error();
  // A caller that stopped waiting may have left questions in the socket, a few at most.
  ssize_t sent = send(socket_, question.data(), question.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  explicit_bzero(question.data(), question.size());
  if (sent != static_cast<ssize_t>(question.size())) throw exit_error();
  while (answered_ != head.number && !has_exited_) co_await answered_signal_.wait();
  if (has_exited_) throw exit_error();
  if (answer_.empty()) throw Error(ErrorCode::overload_busy, {}, "Argon2id: out of memory");
  co_return std::move(answer_);
}

void PasswordHasher::read_answers() {
  std::array<char, answer_bytes_max> bytes;
  ssize_t count = recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count < static_cast<ssize_t>(sizeof answered_)) return note_exit();
  std::memcpy(&answered_, bytes.data(), sizeof answered_);
  answer_.assign(bytes.data() + sizeof answered_, static_cast<size_t>(count) - sizeof answered_);
  answered_signal_.notify();
}

void PasswordHasher::note_exit() {
  has_exited_ = true;
  watch_->watch(false, false);
  log_error("password_hasher_lost", {{"hasher_pid", std::to_string(pid_)}});
  answered_signal_.notify();
  if (on_exit) on_exit();
}

}  // namespace hostler
