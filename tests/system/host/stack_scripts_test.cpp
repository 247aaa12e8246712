// Tests what `make up` and `make forget` do when something is in their way: a setting that there is
// not, a master that died without its workers, a port that is taken. On a stack of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/child.h"
#include "tests/support/rigs/run_program.h"

namespace hostler {
namespace {

using testing::HasSubstr;
using testing_support::eventually;
using testing_support::ProgramRun;
using testing_support::run_program;

class StackScripts : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new_folder();
    port_ = testing_support::free_port();
    ProgramRun run = called("up");
    ASSERT_EQ(run.status, 0) << run.out << run.err;
  }
  static void TearDownTestSuite() { called("forget"); }

  static std::string new_folder() {
    return std::filesystem::temp_directory_path() / ("stack-" + to_hex(random_bytes(8)));
  }
  static ProgramRun called(const std::string& script, std::vector<std::string> more = {},
                           const std::string& folder = folder_) {
    std::vector<std::string> environment{
        "VAR=" + folder, fmt::format("PORT={}", port_), "MODEL=none", "NODES=1",
        "BUILD_DIR=" + std::filesystem::absolute(testing_support::build_folder()).string()};
    environment.insert(environment.end(), more.begin(), more.end());
    return run_program({"dev/stack/" + script}, environment);
  }
  // A process of var/env; its record is the stack's own.
  static pid_t pid(const std::string& name) {
    std::string text = run_program({"/bin/sh", "-c", ". " + folder_ + "/env; echo $" + name}).out;
    pid_t number = -1;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }
  static bool is_there(pid_t process) {
    return std::filesystem::is_regular_file(fmt::format("/proc/{}/exe", process));
  }

  static inline std::string folder_;
  static inline int port_ = 0;
};

TEST_F(StackScripts, RefuseAnUnknownSettingBeforeTheyTouchWhatRuns) {
  pid_t pool = pid("API_PID");
  ProgramRun refused = called("up", {"HOSTLER_NO_SUCH=1"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("HOSTLER_NO_SUCH"));
  EXPECT_THAT(refused.err, HasSubstr("Nothing was started or stopped."));
  EXPECT_TRUE(is_there(pool));
  ProgramRun again = called("up");
  EXPECT_EQ(again.status, 0) << again.err << "the bad setting was remembered";
  EXPECT_EQ(pid("API_PID"), pool);
}

TEST_F(StackScripts, RefuseAPortThatIsNone) {
  for (const char* port : {"PORT=abc", "PORT=0", "PORT=65536", "PORT=08443"}) {
    ProgramRun refused = called("up", {port});
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr(std::string(port) + ": say 1 to 65535."));
  }
}

TEST_F(StackScripts, EndTheWorkersOfAnNginxWhoseMasterDied) {
  kill(pid("NGINX_PID"), SIGKILL);
  ProgramRun again = called("up");
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_TRUE(is_there(pid("NGINX_PID")));
}

TEST_F(StackScripts, NameTheStackThatHasThePort) {
  std::string other = new_folder();
  ProgramRun refused = called("up", {}, other);
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("is taken by the Hostler stack in "));
  called("forget", {}, other);
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST_F(StackScripts, ForgetAllOfAStack) {
  pid_t pool = pid("API_PID");
  std::string elsewhere =
      std::filesystem::weakly_canonical(std::filesystem::path(folder_) / "run").string();
  ProgramRun forgotten = called("forget");
  EXPECT_EQ(forgotten.status, 0) << forgotten.err;
  EXPECT_TRUE(eventually(5'000, [&] { return !is_there(pool); }));
  EXPECT_FALSE(std::filesystem::exists(folder_));
  EXPECT_FALSE(std::filesystem::exists(elsewhere));
  EXPECT_EQ(called("forget").status, 0) << "there is none";
  EXPECT_EQ(called("up").status, 0);
}

}  // namespace
}  // namespace hostler
