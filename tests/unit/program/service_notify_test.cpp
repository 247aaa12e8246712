// Tests what a service says to its manager, with a datagram socket in the manager's place.
#include "lib/program/service_notify.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace hostler {
namespace {

class ServiceNotifyTest : public testing::Test {
 protected:
  ServiceNotifyTest() {
    manager_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name_ = "@hostler-notify-" + std::to_string(getpid());
    memcpy(address.sun_path, name_.data(), name_.size());
    address.sun_path[0] = '\0';
    socklen_t length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    EXPECT_EQ(bind(manager_, reinterpret_cast<sockaddr*>(&address), length), 0);
    setenv("NOTIFY_SOCKET", name_.c_str(), 1);
  }
  ~ServiceNotifyTest() override {
    close(manager_);
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS",
                             "LISTEN_PID", "LISTEN_FDNAMES"}) {
      unsetenv(name);
    }
  }

  std::string received() {
    char text[256];
    ssize_t size = recv(manager_, text, sizeof text, 0);
    return size < 0 ? "" : std::string(text, static_cast<size_t>(size));
  }

  int manager_;
  std::string name_;
};

TEST_F(ServiceNotifyTest, LinesReachTheManager) {
  program::notify_service("READY=1\nSTATUS=2 workers");
  EXPECT_EQ(received(), "READY=1\nSTATUS=2 workers");
}

TEST_F(ServiceNotifyTest, WithoutAManagerNothingHappens) {
  unsetenv("NOTIFY_SOCKET");
  program::notify_service("READY=1");
  setenv("NOTIFY_SOCKET", "/nonexistent/socket", 1);
  program::notify_service("READY=1");
  EXPECT_EQ(received(), "");
}

TEST_F(ServiceNotifyTest, TheWatchdogIsFedTwiceInItsTime) {
  EXPECT_EQ(program::watchdog_interval_ms(), 0);
  setenv("WATCHDOG_USEC", "30000000", 1);
  EXPECT_EQ(program::watchdog_interval_ms(), 15'000);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_EQ(program::watchdog_interval_ms(), 15'000);
  setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(program::watchdog_interval_ms(), 0) << "meant for another process";
  unsetenv("WATCHDOG_PID");
  setenv("WATCHDOG_USEC", "soon", 1);
  EXPECT_EQ(program::watchdog_interval_ms(), 0);
}

TEST_F(ServiceNotifyTest, AListenerIsFoundByItsName) {
  EXPECT_EQ(program::handed_listener("stream"), -1);
  setenv("LISTEN_FDS", "2", 1);
  setenv("LISTEN_PID", "1", 1);
  setenv("LISTEN_FDNAMES", "other:stream", 1);
  EXPECT_EQ(program::handed_listener("stream"), -1) << "meant for another process";
  EXPECT_EQ(program::handed_listener("strea"), -1);
}

}  // namespace
}  // namespace hostler
