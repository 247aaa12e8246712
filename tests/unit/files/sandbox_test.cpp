// The walls around the decoders (files/sandbox.h): attempts to get out, in a process that entered.
#include "files/sandbox.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace hostler::files {
namespace {

constexpr int no_sandbox = 99;

// Exit status of a process that does this inside the sandbox; 200 and the signal that ended it.
int status_inside(const std::function<int()>& attempt, SandboxLimits limits = {}) {
  pid_t pid = fork();
  if (pid == 0) {
    if (!enter_sandbox(limits).empty()) _exit(no_sandbox);
    _exit(attempt());
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? 200 + WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(Sandbox, OpensNoFile) {
  EXPECT_EQ(status_inside([] {
              bool reads = open("/etc/passwd", O_RDONLY) >= 0;
              bool writes = open("/tmp/out-of-the-sandbox", O_WRONLY | O_CREAT, 0600) >= 0;
              bool links = symlink("/etc/passwd", "/tmp/out-of-the-sandbox-too") == 0;
              return reads || writes || links ? 1 : 0;
            }),
            0);
}

TEST(Sandbox, ReachesNoNetworkAndNoOtherSocket) {
  EXPECT_EQ(status_inside([] {
              bool of_network = socket(AF_INET, SOCK_STREAM, 0) >= 0;
              bool of_host = socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
              return of_network || of_host ? 1 : 0;
            }),
            0);
}

TEST(Sandbox, BeginsNoOtherProcess) {
  EXPECT_EQ(status_inside([] {
              pid_t child = fork();
              if (child == 0) _exit(0);
              char name[] = "/bin/true";
              char* words[] = {name, nullptr};
              char* none[] = {nullptr};
              execve(name, words, none);
              return child > 0 || kill(getppid(), 0) == 0 ? 1 : 0;
            }),
            0);
}

// With room for what this test program has in its address space already.
TEST(Sandbox, RunsNoMemoryThatWasWritten) {
  SandboxLimits roomy{.memory_bytes = int64_t{64} << 30, .address_bytes = int64_t{1} << 40};
  EXPECT_EQ(status_inside(
                [] {
                  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                  void* plain = mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                  bool is_run =
                      plain != MAP_FAILED && mprotect(plain, 4096, PROT_READ | PROT_EXEC) == 0;
                  return memory != MAP_FAILED || is_run || plain == MAP_FAILED ? 1 : 0;
                },
                roomy),
            0);
}

// The sanitizers reserve terabytes of addresses, so that they run without this limit.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Sandbox, GivesNoMoreMemoryThanItsLimit) {
  EXPECT_EQ(status_inside([] {
              constexpr size_t too_much = size_t{600} << 20;
              std::unique_ptr<void, void (*)(void*)> memory(malloc(too_much), free);
              return memory ? 1 : 0;
            }),
            0);
}
#endif

TEST(Sandbox, EndsWhoTakesTooLong) {
  SandboxLimits one_second{.seconds = 1};
  EXPECT_EQ(status_inside(
                [] {
                  std::mutex never;
                  never.lock();
                  return pthread_mutex_lock(never.native_handle());  // waits for ever
                },
                one_second),
            200 + SIGALRM);
}

TEST(Sandbox, LetsThreadsWork) {
  EXPECT_EQ(status_inside([] {
              int answer = 0;
              std::thread([&answer] { answer = 42; }).join();
              return answer;
            }),
            42);
}

}  // namespace
}  // namespace hostler::files
