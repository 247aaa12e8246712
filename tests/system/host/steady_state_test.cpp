// One worker answers many requests, the daemon executes many runs, and neither grows: memory and
// descriptors are those they had when a fifth of the work was done.
//
// STEADY_REQUESTS (4000) and STEADY_RUNS (150); `make soak` asks for a million and 20,000.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "tests/support/parameters.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

// Whatever the figures: allocators keep some room and caches fill late (2 to 5 MiB after 150 to
// 8,000 runs), so that a leak of half a KiB a run shows with 20,000. Connections to the model are
// kept for the next run, as many as there were runs at once.
constexpr int64_t growth_kib_max = 8192;
constexpr int64_t runs_at_once = 20;
constexpr int64_t descriptors_max = runs_at_once + 4;
constexpr int64_t patience_ms = 60'000;

struct Footprint {
  int64_t memory_kib = 0;  // what is the process's own, in memory now
  int64_t descriptors = 0;
};

Footprint footprint_of(pid_t pid) {
  Footprint footprint;
  std::istringstream status(read_text_file(fmt::format("/proc/{}/status", pid)));
  for (std::string word; status >> word;) {
    if (word == "RssAnon:") status >> footprint.memory_kib;
  }
  std::error_code gone;
  for (const auto& entry :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid), gone)) {
    footprint.descriptors += entry.path().empty() ? 0 : 1;
  }
  return footprint;
}

std::string growth(const Footprint& before, const Footprint& after) {
  std::string stated;
  if (before.memory_kib == 0) stated += "its memory could not be read; ";
  if (after.memory_kib > before.memory_kib + growth_kib_max) stated += "memory grows; ";
  if (after.descriptors > before.descriptors + descriptors_max) stated += "descriptors stay open; ";
  return stated.empty()
             ? ""
             : fmt::format("{}{} -> {} KiB, {} -> {} descriptors", stated, before.memory_kib,
                           after.memory_kib, before.descriptors, after.descriptors);
}

pid_t only_worker_of(pid_t master) {
  std::istringstream list(read_text_file(fmt::format("/proc/{}/task/{}/children", master, master)));
  pid_t pid = 0;
  list >> pid;
  return pid;
}

class SteadyState : public testing::Test {
 protected:
  SteadyState()
      : stack_({{"HOSTLER_API_WORKERS=1", "HOSTLER_LIMIT_CONCURRENT_RUNS=100000"}, true}) {
    add_fake_model(stack_);
  }

  // Reads, writes, refusals and unknown addresses, 32 at once. Answers how many did not come.
  int64_t ask(const TestUser& user, const std::string& thread_id, int64_t requests) {
    const std::vector<Call> kinds = {
        {"GET", "/v1/me", {}, {}, {}},
        {"GET", "/v1/threads?limit=5", {}, {}, {}},
        {"GET", "/v1/threads/" + thread_id + "/messages?limit=3", {}, {}, {}},
        {"GET", "/v1/nothing/here", {}, {}, {}},
        {"GET", "/v1/threads?limit=x", {}, {}, {}},
        {"PATCH", "/v1/threads/" + thread_id, R"({"title":"again"})", "application/json", {}},
        {"POST", "/v1/threads/" + thread_id + "/messages", "{", "application/json", {}},
        {"GET", "/v1/runs/" + thread_id, {}, {}, {}}};
    int64_t missing = 0;
    for (int64_t sent = 0; sent < requests; sent += 32) {
      std::vector<Call> calls;
      for (size_t i = 0; i < 32; ++i) calls.push_back(kinds[i % kinds.size()]);
      for (const Answer& answer : user.client.send_all(std::move(calls))) {
        missing += answer.status == 0 || answer.status >= 500 ? 1 : 0;
      }
    }
    return missing;
  }

  // A thread each, 20 at once, each to its end.
  int64_t execute(const TestUser& user, int64_t runs) {
    for (int64_t begun = 0; begun < runs; begun += runs_at_once) {
      for (int i = 0; i < runs_at_once; ++i) start_output(user.client, "[words 12]");
      EXPECT_TRUE(all_runs_end(stack_, patience_ms));
    }
    return sql_number(stack_, "SELECT count(*) FROM runs WHERE status = 'completed'");
  }

  ApiStack stack_;
};

TEST_F(SteadyState, OfAWorkerDoesNotGrowWithItsRequests) {
  int64_t requests = parameter("STEADY_REQUESTS", 4000);
  TestUser user = register_user(stack_);
  std::string thread_id = make_thread(user.client);
  pid_t worker = only_worker_of(stack_.api().pid());
  EXPECT_EQ(ask(user, thread_id, requests / 5), 0);
  Footprint warm = footprint_of(worker);
  EXPECT_EQ(ask(user, thread_id, requests - requests / 5), 0);
  Footprint done = footprint_of(worker);
  EXPECT_EQ(growth(warm, done), "");
  EXPECT_EQ(only_worker_of(stack_.api().pid()), worker) << "another worker took its place";
  fmt::print("{} requests: {} -> {} KiB, {} -> {} descriptors\n", requests, warm.memory_kib,
             done.memory_kib, warm.descriptors, done.descriptors);
}

TEST_F(SteadyState, OfTheDaemonDoesNotGrowWithItsRuns) {
  int64_t runs = parameter("STEADY_RUNS", 150);
  TestUser user = register_user(stack_);
  pid_t daemon = stack_.runner().pid();
  execute(user, runs / 5);
  Footprint warm = footprint_of(daemon);
  EXPECT_GE(execute(user, runs - runs / 5), runs);
  Footprint done = footprint_of(daemon);
  EXPECT_EQ(growth(warm, done), "");
  EXPECT_EQ(stack_.runner().pid(), daemon);
  fmt::print("{} runs: {} -> {} KiB, {} -> {} descriptors\n", runs, warm.memory_kib,
             done.memory_kib, warm.descriptors, done.descriptors);
}

// The measure sees what it is for.
TEST(Footprint, RisesWithMemoryAndDescriptors) {
  Footprint before = footprint_of(getpid());
  // Memory of the system: the heap may still have what earlier tests returned.
  const size_t bytes = static_cast<size_t>(2 * growth_kib_max) * 1024;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, bytes);
  std::vector<int> descriptors;
  for (int i = 0; i < 2 * descriptors_max; ++i)
    descriptors.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::string stated = growth(before, footprint_of(getpid()));
  for (int fd : descriptors) close(fd);
  munmap(memory, bytes);
  EXPECT_NE(stated.find("memory grows"), std::string::npos) << stated;
  EXPECT_NE(stated.find("descriptors stay open"), std::string::npos) << stated;
  EXPECT_EQ(growth(before, before), "");
}

}  // namespace
}  // namespace hostler::testing_support
