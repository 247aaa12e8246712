// Too few descriptors, for the daemon and for a worker of the pool: what cannot be served is told
// so, what is under way goes on, nobody dies, nobody spins, and all is well when the need is over.
//
// SCARCE_STREAMS (300; `make soak`: 900) for a daemon of 256 descriptors; SCARCE_REQUESTS (180;
// 20,000) to a worker that has a handful. The check is shown requests that nobody could answer.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <sstream>

#include <fmt/format.h>

#include "tests/support/clients/stream_client.h"
#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"
#include "tests/support/scarce.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t recovery_ms_max = 10'000;

size_t descriptors_of(pid_t pid) {
  auto all = std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid));
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

bool is_asleep(pid_t pid) {
  for (const auto& thread :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid))) {
    std::string stat = read_text_file(thread.path() / "stat");
    if (stat.compare(stat.rfind(')'), 3, ") S") != 0) return false;
  }
  return true;
}

// A spinning thread is at work nearly whenever one looks; a waiting one sleeps for long.
testing::AssertionResult rests(pid_t pid) {
  return eventually(
      recovery_ms_max, [pid] { return is_asleep(pid); }, 20);
}

void raise_own_descriptors() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

// A stream that is refused is told 503 and when to come again; "" when it is.
std::string refusal_fault(const StreamClient& stream) {
  if (stream.received().empty()) return "closed without a word";
  if (stream.status() != 503) return fmt::format("{} {}", stream.status(), stream.received());
  if (stream.field("Retry-After").empty()) return "no Retry-After";
  return stream.body().find("overload.busy") == std::string::npos ? stream.body() : "";
}

TEST(FewDescriptorsTest, OfTheDaemonRefuseStreamsAndKeepRuns) {
  raise_own_descriptors();
  ApiStack stack({{"HOSTLER_LIMIT_CONCURRENT_RUNS=100000"}, true});
  add_fake_model(stack);
  TestUser user = register_user(stack);
  std::string socket = stack.folder() + "/stream.sock";
  pid_t daemon = stack.runner().pid();
  std::string followed = start_output(user.client, "[delay 50] [words 90]");
  StreamAsk asked{followed, user.client.token, "", "", {}};
  size_t wanted = static_cast<size_t>(parameter("SCARCE_STREAMS", 300));
  std::vector<std::string> run_ids;
  std::vector<std::unique_ptr<StreamClient>> served;
  size_t refused = 0;
  {
    Scarce few(daemon, RLIMIT_NOFILE, 256);
    for (size_t i = 0; i < wanted; ++i) {
      auto stream = std::make_unique<StreamClient>(socket, asked);
      EXPECT_TRUE(stream->read_until("\r\n\r\n")) << "closed without a word";
      if (stream->status() == 200) {
        served.push_back(std::move(stream));
        continue;
      }
      stream->read_to_end();
      EXPECT_EQ(refusal_fault(*stream), "");
      ++refused;
    }
    EXPECT_GT(refused, 0U);
    EXPECT_GT(served.size(), 128U);
    // Runs go on, and new ones begin, with streams at their most.
    for (int i = 0; i < 8; ++i)
      run_ids.push_back(start_output(user.client, "[delay 10] [words 20]"));
    for (const std::string& run_id : run_ids) {
      EXPECT_EQ(wait_for_status(user.client, run_id, "completed"), "completed");
    }
    EXPECT_TRUE(rests(daemon)) << "it spins";
    served.resize(served.size() / 2);  // there is room again, without anybody's help
    EXPECT_TRUE(eventually(recovery_ms_max, [&] {
      auto stream = std::make_unique<StreamClient>(socket, asked);
      bool is_served = stream->read_until("\r\n\r\n") && stream->status() == 200;
      if (is_served) served.push_back(std::move(stream));
      return is_served;
    }));
  }
  ASSERT_TRUE(all_runs_end(stack));
  for (auto& stream : served) {
    EXPECT_TRUE(stream->read_to_end());
    EXPECT_NE(stream->frames().find("run.completed"), std::string::npos);
  }
  EXPECT_EQ(stack.runner().pid(), daemon);
  EXPECT_TRUE(stack.runner().is_running());
  EXPECT_EQ(sql_number(stack, "SELECT count(*) FROM runs WHERE status <> 'completed'"), 0);
  EXPECT_EQ(run_faults(stack), "");
  fmt::print("{} streams served, {} refused\n", served.size(), refused);

  // The check is shown a stream that nobody answered.
  StreamClient silent(socket);
  EXPECT_EQ(refusal_fault(silent), "closed without a word");
}

TEST(FewDescriptorsTest, OfAWorkerAreToldOrWaitedFor) {
  ApiStack stack({{"HOSTLER_API_WORKERS=1"}});
  TestUser user = register_user(stack);
  std::istringstream children(
      read_text_file(fmt::format("/proc/{0}/task/{0}/children", stack.api().pid())));
  pid_t worker = 0;
  children >> worker;
  // Reads on the connection that all share, and writes, of which each wants one of its own.
  auto ask = [&](size_t count) {
    std::vector<Call> calls;
    for (size_t i = 0; i < count; ++i) {
      calls.push_back(i % 2 == 0 ? Call{"GET", "/v1/me", {}, {}, {}}
                                 : Call{"POST", "/v1/threads", "{}", "application/json", {}});
    }
    return user.client.send_all(std::move(calls));
  };
  int64_t made = 0;
  int64_t refused = 0;
  auto count = [&](const std::vector<Answer>& answers) {
    for (const Answer& answer : answers) {
      if (answer.status == 503) {
        ++refused;
        EXPECT_TRUE(answer.has_header("retry-after")) << answer.body;
      } else {
        EXPECT_TRUE(answer.status == 200 || answer.status == 201) << answer.status << answer.body;
        made += answer.status == 201 ? 1 : 0;
      }
    }
  };
  {
    Scarce few(worker, RLIMIT_NOFILE, descriptors_of(worker) + 3);
    int64_t requests = parameter("SCARCE_REQUESTS", 180);
    for (int64_t sent = 0; sent < requests; sent += 60) count(ask(60));
    EXPECT_TRUE(rests(worker)) << "it spins";
  }
  ASSERT_TRUE(eventually(recovery_ms_max, [&] {
    int64_t refused_before = refused;
    count(ask(60));
    return refused == refused_before;
  })) << "no service again";
  EXPECT_EQ(kill(worker, 0), 0) << "the worker died";
  EXPECT_EQ(sql_number(stack, "SELECT count(*) FROM threads"), made);
  fmt::print("{} threads made, {} refused\n", made, refused);
}

}  // namespace
}  // namespace hostler::testing_support
