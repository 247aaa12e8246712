// Log events as systemd's journal takes them: lib/log.h.
#include "lib/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

namespace hostler {
namespace {

using testing::HasSubstr;

class Journal : public testing::Test {
 protected:
  Journal() : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    char name[] = "/tmp/hostler-journal-XXXXXX";
    path_ = std::string(mkdtemp(name)) + "/socket";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Journal() override {
    close(fd_);
    unlink(path_.c_str());
    rmdir(path_.substr(0, path_.rfind('/')).c_str());
  }
  std::string next() const {
    char datagram[4096];
    ssize_t size = recv(fd_, datagram, sizeof datagram, MSG_DONTWAIT);
    return std::string(datagram, size < 0 ? 0 : static_cast<size_t>(size));
  }

  int fd_;
  std::string path_;
};

TEST_F(Journal, GetsEachFieldUnderItsName) {
  ASSERT_TRUE(log_to_journal(path_));
  log_warning("run_failed", {{"run_id", "r1"}, {"trace_id", "t1"}, {"status", "failed"}});
  std::string datagram = next();
  EXPECT_THAT(datagram, HasSubstr("PRIORITY=4\n"));
  EXPECT_THAT(datagram, HasSubstr("HOSTLER_EVENT=run_failed\n"));
  EXPECT_THAT(datagram, HasSubstr("HOSTLER_RUN_ID=r1\nHOSTLER_TRACE_ID=t1\n"));
  EXPECT_THAT(datagram, HasSubstr("HOSTLER_STATUS=failed\n"));
  EXPECT_THAT(datagram, HasSubstr("MESSAGE=run_failed run_id=r1 trace_id=t1 status=failed\n"));
}

TEST_F(Journal, CannotBeMadeToTakeAFieldOutOfAValue) {
  ASSERT_TRUE(log_to_journal(path_));
  log_warning("event", {{"cause", "a\nPRIORITY=0"}});
  std::string length("\x0c\0\0\0\0\0\0\0", 8);
  EXPECT_THAT(next(), HasSubstr("HOSTLER_CAUSE\n" + length + "a\nPRIORITY=0\n"));
}

TEST_F(Journal, TellsAnEventInOneLine) {
  ASSERT_TRUE(log_to_journal(path_));
  log_warning("event", {{"cause", "a\r\nrun_failed run_id=r1"}, {"path", "x"}});
  EXPECT_THAT(next(), HasSubstr("MESSAGE=event cause=a\\r\\nrun_failed run_id=r1 path=x\n"));
}

TEST_F(Journal, ThatIsGoneLeavesTheLinesOnStderr) {
  ASSERT_TRUE(log_to_journal(path_));
  close(fd_);
  testing::internal::CaptureStderr();
  log_warning("still_told", {{"run_id", "r1"}});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(R"("event":"still_told")"));
  EXPECT_FALSE(log_to_journal("/nowhere/socket"));
  fd_ = -1;
}

}  // namespace
}  // namespace hostler
