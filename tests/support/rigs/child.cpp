// Starts and ends programs; see tests/support/rigs/child.h.
#include "tests/support/rigs/child.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/support/eventually.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t stop_limit_ms = 10'000;
constexpr int64_t line_limit_ms = 20'000;

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> whole_environment(const ChildPlan& plan) {
  std::vector<std::string> all = plan.environment;
  for (const char* name : {"PATH", "HOME", "TEST_RUN_MARK", "ASAN_OPTIONS", "UBSAN_OPTIONS",
                           "LSAN_OPTIONS", "TSAN_OPTIONS"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) all.push_back(std::string(name) + "=" + value);
  }
  return all;
}

// In the child, between fork and exec: nothing here allocates.
[[noreturn]] void become(char** command, char** environment, int log_fd, int stdout_fd,
                         pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null_fd, STDIN_FILENO);
  dup2(stdout_fd < 0 ? log_fd : stdout_fd, STDOUT_FILENO);
  dup2(log_fd, STDERR_FILENO);
  execve(command[0], command, environment);
  _exit(127);
}

}  // namespace

Child::Child(const ChildPlan& plan) {
  std::vector<std::string> command = plan.command;
  std::vector<std::string> environment = whole_environment(plan);
  std::vector<char*> command_pointers = pointers_to(command);
  std::vector<char*> environment_pointers = pointers_to(environment);
  const char* log_path = plan.log_path.empty() ? "/dev/null" : plan.log_path.c_str();
  int log_fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  int ends[2] = {-1, -1};
  if (plan.reads_stdout && pipe2(ends, O_CLOEXEC) != 0) ends[0] = ends[1] = -1;
  pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    become(command_pointers.data(), environment_pointers.data(), log_fd, ends[1], parent);
  }
  close(log_fd);
  if (ends[1] >= 0) close(ends[1]);
  stdout_fd_ = ends[0];
}

Child::~Child() {
  send_signal(SIGTERM);
  if (!eventually(stop_limit_ms, [this] { return has_ended_by_now(); })) {
    ADD_FAILURE() << "pid " << pid_ << " does not end on SIGTERM";
    send_signal(SIGKILL);
    wait();
  }
  if (stdout_fd_ >= 0) close(stdout_fd_);
}

std::string Child::read_line() {
  std::string line;
  int64_t deadline_ms = monotonic_ms() + line_limit_ms;
  while (!line.ends_with('\n')) {
    pollfd waiting{stdout_fd_, POLLIN, 0};
    int64_t rest_ms = deadline_ms - monotonic_ms();
    if (rest_ms <= 0 || poll(&waiting, 1, static_cast<int>(rest_ms)) <= 0) break;
    char byte = 0;
    if (read(stdout_fd_, &byte, 1) != 1) break;
    line += byte;
  }
  if (line.ends_with('\n')) line.pop_back();
  return line;
}

bool Child::is_running() { return !has_ended_by_now(); }

int Child::wait() {
  if (!has_ended_) {
    waitpid(pid_, &status_, 0);
    has_ended_ = true;
  }
  return status_;
}

void Child::send_signal(int number) const {
  if (!has_ended_ && pid_ > 0) kill(pid_, number);
}

bool Child::has_ended_by_now() {
  has_ended_ = has_ended_ || pid_ <= 0 || waitpid(pid_, &status_, WNOHANG) == pid_;
  return has_ended_;
}

// Port below those that Linux gives to outgoing connections, because one of these may come before
// the test uses the port. Random, because the next test may look at the same moment.
int free_port() {
  constexpr int first = 15'000;
  constexpr int beyond = 32'000;
  std::random_device random;
  std::uniform_int_distribution<int> any(first, beyond - 1);
  for (;;) {
    int port = any(random);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bool is_free = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    close(fd);
    if (is_free) return port;
  }
}

std::string read_text_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace hostler::testing_support
