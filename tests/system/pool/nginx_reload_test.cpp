// nginx taking a new configuration under load: clients that follow HTTP's rules (an idle connection
// may be closed at any time; what was sent on it and not begun to be answered is sent again) see no
// failed request, and streams go on.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/child.h"
#include "tests/support/rigs/private_stack.h"

namespace hostler {
namespace {

using namespace testing_support;

constexpr int reloads = 5;
constexpr int clients = 6;

// nginx's workers, but for those that only finish what they began.
std::vector<pid_t> serving_workers(pid_t master) {
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", master));
  std::vector<pid_t> serving;
  for (pid_t pid = 0; children >> pid;) {
    std::string title = read_text_file(fmt::format("/proc/{}/cmdline", pid));
    if (title.find("worker process") == title.npos) continue;
    if (title.find("shutting down") == title.npos) serving.push_back(pid);
  }
  return serving;
}

bool has_new_workers(pid_t master, const std::vector<pid_t>& before) {
  std::vector<pid_t> now = serving_workers(master);
  bool has_old = std::any_of(now.begin(), now.end(), [&](pid_t pid) {
    return std::find(before.begin(), before.end(), pid) != before.end();
  });
  return !now.empty() && !has_old;
}

TEST(NginxReload, FailsNoRequestAndBreaksNoStream) {
  PrivateStack& stack = PrivateStack::shared();
  pid_t master = stack.pid("NGINX_PID");
  PrivateStack::User user = stack.new_user("[delay 20] [words 300]");
  std::string run_id = stack.start_run(user);
  EventStream reading;
  std::thread subscriber([&] { reading = read_stream(stack, run_id, user.client.token); });

  std::atomic<bool> is_over = false;
  std::atomic<int> answered = 0;
  std::atomic<int> failed = 0;
  std::vector<std::thread> askers;
  for (int i = 0; i < clients; ++i) {
    askers.emplace_back([&, i] {
      Line line(stack.env("BASE_URL"), stack.env("CA_CERT"));
      while (!is_over) {
        // Through the pool, and by nginx alone.
        bool asks_pool = i % 2 == 0;
        int status = line.quiet_status(asks_pool ? "/healthz" : "/_problem/404");
        ++(status == (asks_pool ? 200 : 404) ? answered : failed);
      }
    });
  }
  for (int i = 0; i < reloads; ++i) {
    int before = answered;
    EXPECT_TRUE(eventually(60'000, [&] { return answered >= before + 200; })) << answered;
    std::vector<pid_t> old = serving_workers(master);
    ASSERT_FALSE(old.empty());
    kill(master, SIGHUP);
    EXPECT_TRUE(eventually(20'000, [&] { return has_new_workers(master, old); })) << "reload " << i;
  }
  is_over = true;
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(failed, 0) << "of " << failed + answered;
  subscriber.join();
  EXPECT_TRUE(reading.has_ended_cleanly) << reading.failure;
  EXPECT_TRUE(reading.types().ends_with("run.completed")) << reading.types();
}

}  // namespace
}  // namespace hostler
