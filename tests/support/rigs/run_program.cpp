// Spawns, feeds and reads a program; see tests/support/rigs/run_program.h.
#include "tests/support/rigs/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace hostler::testing_support {
namespace {

constexpr std::chrono::seconds time_max{60};

struct Pipe {
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(size_t end) {
    if (ends.at(end) >= 0) close(ends.at(end));
    ends.at(end) = -1;
  }
  std::array<int, 2> ends;
};

// Blanks what belongs to the stack the test was started from.
std::vector<std::string> environment_with(const std::vector<std::string>& added) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    bool is_ours = text.starts_with("HOSTLER_") || text.starts_with("PG");
    if (!is_ours) environment.emplace_back(text);
  }
  environment.insert(environment.end(), added.begin(), added.end());
  return environment;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

pid_t spawn(std::vector<std::string> command, std::vector<std::string> environment,
            std::array<Pipe, 3>& pipes) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipes[0].ends[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipes[1].ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipes[2].ends[1], STDERR_FILENO);
  pid_t pid = 0;
  int fault = posix_spawnp(&pid, command[0].c_str(), &actions, nullptr, pointers_to(command).data(),
                           pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (fault != 0) throw std::runtime_error("cannot start " + command[0]);
  return pid;
}

// Moves bytes until both outputs end or the time is over.
void converse(std::array<Pipe, 3>& pipes, std::string_view input, ProgramRun& run) {
  auto deadline = std::chrono::steady_clock::now() + time_max;
  std::array<std::string*, 3> stated{nullptr, &run.out, &run.err};
  while (pipes[1].ends[0] >= 0 || pipes[2].ends[0] >= 0) {
    if (input.empty()) pipes[0].close_end(1);
    std::array<pollfd, 3> watched{{{pipes[0].ends[1], POLLOUT, 0},
                                   {pipes[1].ends[0], POLLIN, 0},
                                   {pipes[2].ends[0], POLLIN, 0}}};
    auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (rest.count() <= 0 || poll(watched.data(), 3, static_cast<int>(rest.count())) == 0) return;
    if (watched[0].revents != 0) {
      ssize_t written = write(pipes[0].ends[1], input.data(), input.size());
      input.remove_prefix(written > 0 ? static_cast<size_t>(written) : input.size());
    }
    for (size_t i : {size_t{1}, size_t{2}}) {
      if (watched.at(i).revents == 0) continue;
      std::array<char, 4096> piece;
      ssize_t count = read(pipes.at(i).ends[0], piece.data(), piece.size());
      if (count > 0) stated.at(i)->append(piece.data(), static_cast<size_t>(count));
      if (count <= 0) pipes.at(i).close_end(0);
    }
  }
}

}  // namespace

std::string build_folder() {
  const char* folder = std::getenv("TEST_BUILD");
  if (folder != nullptr) return folder;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

ProgramRun run_program(const std::vector<std::string>& command,
                       const std::vector<std::string>& environment, const std::string& input) {
  std::signal(SIGPIPE, SIG_IGN);  // a program need not read its input
  std::array<Pipe, 3> pipes;
  pid_t pid = spawn(command, environment_with(environment), pipes);
  pipes[0].close_end(0);
  pipes[1].close_end(1);
  pipes[2].close_end(1);
  ProgramRun run;
  converse(pipes, input, run);
  bool is_late = pipes[1].ends[0] >= 0 || pipes[2].ends[0] >= 0;
  if (is_late) kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return run;
}

ProgramRun run_ctl(std::vector<std::string> arguments, const std::vector<std::string>& environment,
                   const std::string& input) {
  arguments.insert(arguments.begin(), build_folder() + "/hostlerctl");
  return run_program(arguments, environment, input);
}

}  // namespace hostler::testing_support
