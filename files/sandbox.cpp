// See files/sandbox.h.
#include "files/sandbox.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace hostler::files {
namespace {

std::string fault_of(const char* wall, int error) {
  return std::string(wall) + ": " + strerror(error);
}

bool limit(__rlimit_resource resource, int64_t value) {
  rlimit wanted{static_cast<rlim_t>(value), static_cast<rlim_t>(value)};
  return setrlimit(resource, &wanted) == 0;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool limits_memory = false;  // the sanitizers reserve terabytes of addresses
#else
constexpr bool limits_memory = true;
#endif

bool limit_memory(const SandboxLimits& limits) {
  return !limits_memory ||
         (limit(RLIMIT_DATA, limits.memory_bytes) && limit(RLIMIT_AS, limits.address_bytes));
}

// The alarm bounds the clock's time. A process that ignored it would still end by the processor's
// time, or by its parent (files/main.cpp).
std::string set_limits(const SandboxLimits& limits) {
  bool are_set = limit_memory(limits) && limit(RLIMIT_CPU, limits.seconds) &&
                 limit(RLIMIT_CORE, 0) && limit(RLIMIT_STACK, 8 << 20);
  if (!are_set) return fault_of("setrlimit", errno);
  itimerval timer{};
  timer.it_value.tv_sec = limits.seconds;
  signal(SIGALRM, SIG_DFL);
  if (setitimer(ITIMER_REAL, &timer, nullptr) != 0) return fault_of("setitimer", errno);
  return {};
}

// Handles every right to files that the kernel knows, and allows none.
std::string restrict_files() {
  landlock_ruleset_attr rules{};
  long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  // EPERM: the filter of a container does not know the call.
  bool is_known = version >= 0 || (errno != ENOSYS && errno != EOPNOTSUPP && errno != EPERM);
  if (!is_known) return {};
  if (version < 0) return fault_of("landlock", errno);
  // All rights of the first version of Landlock, which every kernel with it has.
  rules.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  long ruleset = syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
  if (ruleset < 0) return fault_of("landlock_create_ruleset", errno);
  long failed = syscall(SYS_landlock_restrict_self, ruleset, 0);
  int error = errno;
  close(static_cast<int>(ruleset));
  return failed == 0 ? "" : fault_of("landlock_restrict_self", error);
}

// Calls that decoders need: memory, threads, time, and the connection that is open already.
constexpr std::array allowed_calls = {SCMP_SYS(read),
                                      SCMP_SYS(write),
                                      SCMP_SYS(readv),
                                      SCMP_SYS(writev),
                                      SCMP_SYS(close),
                                      SCMP_SYS(fstat),
                                      SCMP_SYS(lseek),
                                      SCMP_SYS(munmap),
                                      SCMP_SYS(mremap),
                                      SCMP_SYS(madvise),
                                      SCMP_SYS(brk),
                                      SCMP_SYS(futex),
                                      SCMP_SYS(rt_sigaction),
                                      SCMP_SYS(rt_sigprocmask),
                                      SCMP_SYS(rt_sigreturn),
                                      SCMP_SYS(sigaltstack),
                                      SCMP_SYS(set_robust_list),
                                      SCMP_SYS(rseq),
                                      SCMP_SYS(exit),
                                      SCMP_SYS(exit_group),
                                      SCMP_SYS(getpid),
                                      SCMP_SYS(gettid),
                                      SCMP_SYS(clock_gettime),
                                      SCMP_SYS(clock_getres),
                                      SCMP_SYS(clock_nanosleep),
                                      SCMP_SYS(nanosleep),
                                      SCMP_SYS(gettimeofday),
                                      SCMP_SYS(time),
                                      SCMP_SYS(getrandom),
                                      SCMP_SYS(sched_yield),
                                      SCMP_SYS(sched_getaffinity),
                                      SCMP_SYS(restart_syscall),
                                      SCMP_SYS(getrusage),
                                      SCMP_SYS(membarrier),
                                      SCMP_SYS(poll),
                                      SCMP_SYS(ppoll)};

bool add_rules(scmp_filter_ctx filter) {
  for (int call : allowed_calls) {
    if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0) != 0) return false;
  }
  // Memory that is written is never run.
  for (int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)}) {
    if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
                         SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)) != 0) {
      return false;
    }
  }
  // Threads of this process. clone3 hides its flags in memory, so it fails, and glibc uses clone.
  return seccomp_rule_add(
             filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
             SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM)) == 0 &&
         seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0;
}

// Every other call fails with EPERM, which the libraries survive where they only try something.
std::string restrict_calls() {
  std::unique_ptr<void, void (*)(scmp_filter_ctx)> filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)),
                                                          seccomp_release);
  if (!filter || !add_rules(filter.get())) return fault_of("seccomp", ENOMEM);
  int failed = seccomp_load(filter.get());
  return failed == 0 ? "" : fault_of("seccomp_load", -failed);
}

}  // namespace

std::string enter_sandbox(const SandboxLimits& limits) {
  std::string fault = set_limits(limits);
  if (!fault.empty()) return fault;
  if (prctl(PR_SET_DUMPABLE, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return fault_of("prctl", errno);
  }
  fault = restrict_files();
  if (!fault.empty()) return fault;
  // No file grows, not even a log, into which libraries write warnings.
  signal(SIGXFSZ, SIG_IGN);
  if (!limit(RLIMIT_FSIZE, 0)) return fault_of("setrlimit", errno);
  return restrict_calls();
}

}  // namespace hostler::files
