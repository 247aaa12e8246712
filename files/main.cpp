// hostler-files: looks at uploaded files, each in a process of its own without network, file system
// or secrets.
//
// Talks to: the pool and the daemon, over a Unix socket. It has no settings, because it must know
// nothing. Two ways to run it:
//   hostler-files --socket PATH   listens there and begins a process for each connection
//   hostler-files                 serves the connection that systemd passes (Accept=yes)
// Exit: 0 done, 64 bad command line, 65 no request, 70 no sandbox, 71 no socket, 74 the peer went.
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <map>
#include <string>
#include <string_view>

#include "files/file_type.h"
#include "files/image.h"
#include "files/sandbox.h"
#include "files/serve.h"
#include "lib/error.h"
#include "lib/net/unix_listener.h"

namespace hostler::files {
namespace {

constexpr int exit_usage = 64;
constexpr int exit_no_sandbox = 70;
constexpr int exit_os_error = 71;
// Processes at once. More connections wait in the socket's queue.
constexpr size_t processes_max = 64;
// After the sandbox's own limit; whatever a process made of its signals.
constexpr time_t seconds_max = 25;
// How often it looks at its processes; a signal ends the wait as well.
constexpr int busy_ms = 200;
constexpr int idle_ms = 5'000;
constexpr int first_passed_fd = 3;  // sd_listen_fds(3)

volatile sig_atomic_t is_ending = 0;

int serve_in_sandbox(int fd, const FileTypes& types) {
  std::string fault = enter_sandbox({});
  if (fault.empty()) return serve_one(fd, types);
  fprintf(stderr, "hostler-files: no sandbox, so the file was not read: %s\n", fault.c_str());
  return exit_no_sandbox;
}

// In the child, which has nothing of its parent's but the connection.
[[noreturn]] void be_child(int fd, int listening, const FileTypes& types) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  close(listening);
  int connection = dup2(fd, first_passed_fd);
  close_range(first_passed_fd + 1, ~0U, 0);
  _exit(connection < 0 ? exit_os_error : serve_in_sandbox(connection, types));
}

class Processes {
 public:
  bool is_empty() const { return begun_.empty(); }
  bool is_full() const { return begun_.size() >= processes_max; }
  void add(pid_t pid) { begun_[pid] = time(nullptr); }
  // Takes away those that ended, and ends those that passed their time.
  void reap() {
    for (int status = 0;;) {
      pid_t pid = waitpid(-1, &status, WNOHANG);
      if (pid <= 0) break;
      begun_.erase(pid);
    }
    for (const auto& [pid, begun] : begun_) {
      if (time(nullptr) - begun > seconds_max) kill(pid, SIGKILL);
    }
  }

 private:
  std::map<pid_t, time_t> begun_;
};

int listen_on(const std::string& path, const FileTypes& types) {
  int listening = net::listen_unix(path, 0660);
  Processes processes;
  while (is_ending == 0) {
    processes.reap();
    pollfd watched{processes.is_full() ? -1 : listening, POLLIN, 0};
    poll(&watched, 1, processes.is_empty() ? idle_ms : busy_ms);
    if (processes.is_full() || (watched.revents & POLLIN) == 0) continue;
    int fd = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    pid_t pid = fork();
    if (pid == 0) be_child(fd, listening, types);
    close(fd);
    if (pid > 0) processes.add(pid);
  }
  unlink(path.c_str());
  return 0;
}

void on_signal(int) { is_ending = 1; }

int run(int argc, char** argv) {
  std::string_view option = argc > 1 ? argv[1] : "";
  if (option == "--version") return puts("hostler-files " HOSTLER_VERSION) < 0 ? exit_os_error : 0;
  bool listens = argc == 3 && option == "--socket";
  if (!listens && argc != 1) {
    fputs("usage: hostler-files [--socket PATH | --version]\n", stderr);
    return exit_usage;
  }
  signal(SIGPIPE, SIG_IGN);
  struct sigaction ending {};
  ending.sa_handler = on_signal;
  sigaction(SIGTERM, &ending, nullptr);
  sigaction(SIGINT, &ending, nullptr);
  FileTypes types;
  start_images(argv[0]);
  return listens ? listen_on(argv[2], types) : serve_in_sandbox(first_passed_fd, types);
}

}  // namespace
}  // namespace hostler::files

int main(int argc, char** argv) {
  try {
    return hostler::files::run(argc, argv);
  } catch (const hostler::Error& error) {
    fprintf(stderr, "hostler-files: %s\n", error.cause.c_str());
  } catch (const std::exception& error) {
    fprintf(stderr, "hostler-files: %s\n", error.what());
  }
  return hostler::files::exit_os_error;
}
