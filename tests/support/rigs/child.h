// One program that a test starts: it dies with the test program, whatever becomes of that, and is
// stopped by the destructor. Used by tests/support/rigs/api_stack.cpp. Never leaves a program
// behind.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

namespace hostler::testing_support {

struct ChildPlan {
  std::vector<std::string> command;      // the program's path, then its arguments
  std::vector<std::string> environment;  // NAME=value; PATH and what sanitizers read come along
  std::string log_path;                  // takes stderr, and stdout unless reads_stdout
  bool reads_stdout = false;             // for read_line()
};

class Child {
 public:
  explicit Child(const ChildPlan& plan);
  ~Child();  // SIGTERM, and SIGKILL when it does not end within 10 s
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The next line of its stdout; what there is of it when it ends, or says nothing for 20 s.
  std::string read_line();
  bool is_running();
  // Waits for its end; the status as of waitpid.
  int wait();
  void send_signal(int number) const;
  pid_t pid() const { return pid_; }

 private:
  bool has_ended_by_now();

  pid_t pid_ = -1;
  int stdout_fd_ = -1;
  int status_ = 0;
  bool has_ended_ = false;
};

// A port of 127.0.0.1 that nobody listens on now.
int free_port();
std::string read_text_file(const std::string& path);

}  // namespace hostler::testing_support
