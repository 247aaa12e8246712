// Too little memory, for a worker of the pool and for the daemon: a request hears 503, or its
// program dies and is replaced; nothing that was acknowledged is lost, and no run. Never does a
// program live on and do nothing.
//
// SCARCE_MEMORY (4; `make soak`: 100): how often, with nothing to spare and with some.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <sstream>

#include <fmt/format.h>

#include "tests/support/clients/raw_client.h"
#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"
#include "tests/support/scarce.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t recovery_ms_max = 10'000;

// Returns what is the process's own and may be written, in bytes: RLIMIT_DATA bounds it.
size_t writable_bytes(pid_t pid) {
  std::istringstream status(read_text_file(fmt::format("/proc/{}/status", pid)));
  size_t kib = 0;
  for (std::string word; status >> word;) {
    if (word == "VmData:") status >> kib;
  }
  return kib << 10;
}

pid_t worker_of(ApiStack& stack) {
  pid_t worker = 0;
  EXPECT_TRUE(eventually(recovery_ms_max, [&] {
    std::istringstream children(
        read_text_file(fmt::format("/proc/{0}/task/{0}/children", stack.api().pid())));
    children >> worker;
    return worker != 0;
  }));
  return worker;
}

// It answers, says 503, or dies and is replaced; what was acknowledged is there.
TEST(LittleMemoryTest, OfAWorkerCostsNothingThatWasAcknowledged) {
  ApiStack stack({{"HOSTLER_API_WORKERS=1"}});
  TestUser user = register_user(stack);
  RawClient caller(stack.line().base_url(), ApiStack::certificate());
  std::string path = "/v1/threads/" + make_thread(user.client) + "/messages";
  std::string body = fmt::format(R"({{"content":"{}"}})", std::string(60'000, 'x'));
  std::string too_long = fmt::format(R"({{"content":"{}"}})", std::string(200'000, 'x'));
  int64_t acknowledged = 0;
  int64_t refused = 0;
  for (int64_t round = 0; round < parameter("SCARCE_MEMORY", 4); ++round) {
    pid_t worker = worker_of(stack);
    // From nothing at all to what some requests need.
    size_t spare = static_cast<size_t>(round % 4) * (size_t{128} << 10);
    Scarce little(worker, RLIMIT_DATA, writable_bytes(worker) + spare);
    for (int i = 0; i < 20; ++i) {
      Call call{"POST", path, i % 2 == 0 ? too_long : body, "application/json", {}};
      int whole = i % 2 == 0 ? 422 : 201;
      Received received = caller.ask(call, user.client.token);
      const Answer& answer = received.answer;
      acknowledged += answer.status == 201 ? 1 : 0;
      refused += answer.status == whole ? 0 : 1;
      EXPECT_TRUE(!received.is_whole() || answer.status == whole || answer.status == 503 ||
                  is_problem(answer, 502, "http.bad_gateway"))
          << answer.status << " " << answer.body;
    }
  }
  EXPECT_GT(refused, 0) << "there was memory enough";
  EXPECT_TRUE(stack.api().is_running());
  int64_t begin_ms = monotonic_ms();
  for (int well = 0; well < 20;) {
    Received received = caller.ask({"POST", path, body, "application/json", {}}, user.client.token);
    well = received.answer.status == 201 ? well + 1 : 0;
    acknowledged += received.answer.status == 201 ? 1 : 0;
    ASSERT_LE(monotonic_ms() - begin_ms, recovery_ms_max) << "no service again";
  }
  EXPECT_GE(sql_number(stack, "SELECT count(*) FROM messages"), acknowledged);
  EXPECT_EQ(read_text_file(stack.folder() + "/api.log").find("signal 11"), std::string::npos);
  fmt::print("{} acknowledged, {} refused\n", acknowledged, refused);
}

// It goes on or dies at once; never does it keep runs that it does not execute.
TEST(LittleMemoryTest, OfTheDaemonLosesNoRun) {
  ApiStack stack({{"HOSTLER_LIMIT_CONCURRENT_RUNS=100000"}, true});
  add_fake_model(stack);
  TestUser user = register_user(stack);
  int64_t deaths = 0;
  for (int64_t round = 0; round < parameter("SCARCE_MEMORY", 4); ++round) {
    pid_t daemon = stack.runner().pid();
    {
      size_t spare = static_cast<size_t>(round % 4) * (size_t{512} << 10);
      Scarce little(daemon, RLIMIT_DATA, writable_bytes(daemon) + spare);
      for (int i = 0; i < 4; ++i) {
        start_output(user.client, "[delay 5] [words 20] [long-line 1000000] [words 20]");
      }
      ASSERT_TRUE(eventually(recovery_ms_max, [&] {
        return !stack.runner().is_running() || open_runs(stack) == 0;
      })) << "it lives and does nothing";
    }
    if (stack.runner().is_running()) continue;
    EXPECT_EQ(WTERMSIG(stack.runner().wait()), SIGABRT);
    ++deaths;
    stack.start_runner();
    ASSERT_TRUE(all_runs_end(stack));
  }
  EXPECT_GT(deaths, 0) << "there was memory enough";
  EXPECT_EQ(run_faults(stack), "");
  EXPECT_EQ(run_story(user.client, "[say well]").status, "completed");
  fmt::print("{} deaths\n", deaths);
}

}  // namespace
}  // namespace hostler::testing_support
