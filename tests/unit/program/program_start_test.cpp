// Tests what every program does to itself before anything else.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/program/program_start.h"

namespace hostler::program {
namespace {

TEST(ProgramStart, LeavesNoCoreDump) {
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    forbid_core_dumps();
    rlimit limit{1, 1};
    getrlimit(RLIMIT_CORE, &limit);
    bool is_dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0;
#ifdef __SANITIZE_ADDRESS__
    is_dumpable = false;
#endif
    _exit(limit.rlim_max == 0 && !is_dumpable ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace hostler::program
