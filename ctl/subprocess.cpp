// fork, exec, wait; see ctl/subprocess.h.
#include "ctl/subprocess.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace hostler {
namespace {

// Where nginx and runuser are: who became root by `su` has the path of another user.
void add_sbin_to_path() {
  const char* path = getenv("PATH");
  std::string folders = path == nullptr || *path == '\0' ? "/usr/local/bin:/usr/bin:/bin" : path;
  setenv("PATH", (folders + ":/usr/local/sbin:/usr/sbin:/sbin").c_str(), 1);
}

[[noreturn]] void become(std::vector<std::string> words, int out_fd) {
  if (out_fd >= 0) {
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(out_fd, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
  }
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  add_sbin_to_path();
  execvp(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

SubprocessRun run_subprocess(const std::vector<std::string>& words, bool keep_output) {
  SubprocessRun run;
  int ends[2] = {-1, -1};
  if (keep_output && pipe2(ends, O_CLOEXEC) != 0) return run;
  pid_t pid = fork();
  if (pid == 0) become(words, ends[1]);
  if (keep_output) {
    close(ends[1]);
    char piece[4096];
    for (ssize_t size = 0; pid > 0 && (size = read(ends[0], piece, sizeof piece)) > 0;) {
      run.out.append(piece, static_cast<size_t>(size));
    }
    close(ends[0]);
  }
  int status = 0;
  if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status)) {
    run.status = WEXITSTATUS(status);
  }
  return run;
}

}  // namespace hostler
