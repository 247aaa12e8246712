// The access log while the daemon that writes it is killed: no line is lost, none is doubled.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <thread>

#include <fmt/format.h>

#include "lib/loop/db_session.h"
#include "tests/support/child.h"
#include "tests/support/private_stack.h"
#include "tests/support/run_program.h"

namespace hostler {
namespace {

using namespace testing_support;

constexpr int kills = 5;
constexpr int requests_least = 600;

TEST(AccessLog, LosesAndDoublesNoLineWhenTheDaemonIsKilled) {
  PrivateStack& stack = PrivateStack::shared();
  std::string mark = fmt::format("/v1/nothing-{}-", getpid());
  std::atomic<bool> stops = false;
  std::atomic<int> asked = 0;
  std::thread load([&] {
    Line line(stack.env("BASE_URL"), stack.env("CA_CERT"));
    while (!stops || asked < requests_least) {
      int status = line.quiet_status(fmt::format("{}{}", mark, asked.load()));
      if (status == 404) ++asked;
    }
  });
  for (int i = 0; i < kills; ++i) {
    int before = asked;
    while (asked < before + 50) pause_ms(1);
    kill(stack.pid("RUNNER_PIDS"), SIGKILL);
    stack.up();
  }
  stops = true;
  load.join();
  DbSession sql(stack.env("DATABASE_URL"), "test");
  std::string counts;
  std::string wanted = fmt::format("{0} {0}", asked.load());
  int64_t deadline_ms = monotonic_ms() + 10'000;
  while (counts != wanted && monotonic_ms() < deadline_ms) {
    counts = sql.run_text(fmt::format("SELECT count(*) || ' ' || count(DISTINCT path) FROM "
                                      "access_log WHERE starts_with(path, '{}')",
                                      mark))
                 .text();
    pause_ms(50);
  }
  EXPECT_EQ(counts, wanted);
}

}  // namespace
}  // namespace hostler
