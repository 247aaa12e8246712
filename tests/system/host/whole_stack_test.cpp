// The stack as `make up` starts it, and what it survives: the demo's path, a daemon that is killed
// in the middle of a run, Postgres crashing under load, subscribers of every kind.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <numeric>
#include <thread>

#include <fmt/format.h>

#include "lib/json.h"
#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/rigs/child.h"
#include "tests/support/rigs/private_stack.h"
#include "tests/support/rigs/run_program.h"

namespace hostler {
namespace {

using testing_support::Answer;
using testing_support::EventStream;
using testing_support::eventually;
using testing_support::monotonic_ms;
using testing_support::parameter;
using testing_support::PrivateStack;
using testing_support::read_stream;
using testing_support::read_whole_stream;
using testing_support::run_program;

std::vector<int64_t> one_to(size_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

// The text that a reader has when it honours run.resumed.
std::string shown_text(const EventStream& reading) {
  std::vector<std::pair<int64_t, std::string>> pieces;
  for (const Json& event : reading.events()) {
    const Json* data = event.find("data");
    if (event.text_or("type") == "message.delta") {
      pieces.emplace_back(event.integer_or("seq", 0), data->text_or("content"));
    } else if (event.text_or("type") == "run.resumed") {
      int64_t behind = data->integer_or("discard_after_seq", 0);
      std::erase_if(pieces, [&](const auto& piece) { return piece.first > behind; });
    }
  }
  std::string text;
  for (const auto& piece : pieces) text += piece.second;
  return text;
}

std::string stored_answer(const PrivateStack::User& user) {
  Answer messages = user.client.get("/v1/threads/" + user.thread_id + "/messages");
  Json list = messages.json();
  return std::string(list.as_array()->back().text_or("content"));
}

class WholeStackTest : public ::testing::Test {
 protected:
  PrivateStack& stack_ = PrivateStack::shared();
};

TEST_F(WholeStackTest, ARunStreamsToItsEndAndItsAnswerIsStored) {
  PrivateStack::User user = stack_.new_user("[words 20]");
  std::string run_id = stack_.start_run(user);
  EventStream reading = read_stream(stack_, run_id, user.client.token);
  EXPECT_EQ(reading.status, 200);
  EXPECT_TRUE(reading.has_ended_cleanly);
  EXPECT_EQ(reading.types(), "run.started run.completed");
  EXPECT_EQ(reading.seqs(), one_to(reading.seqs().size()));
  EXPECT_EQ(shown_text(reading), stored_answer(user));
  EXPECT_EQ(user.client.get("/v1/runs/" + run_id).member("status"), "completed");
}

TEST_F(WholeStackTest, BothProgramsAnswerWithTheirMetrics) {
  PrivateStack::User user = stack_.new_user("[words 3]");
  std::string run_id = stack_.start_run(user);
  read_whole_stream(stack_, run_id, user.client.token);
  auto metrics = [&](const std::string& name) {
    return run_program({"/usr/bin/curl", "-s", "--unix-socket", stack_.env(name),
                        "http://localhost/metrics"})
        .out;
  };
  EXPECT_NE(metrics("METRICS_API").find("hostler_api_requests_total{"), std::string::npos);
  std::string runner = metrics("METRICS_RUNNER");
  EXPECT_NE(runner.find("\nhostler_runner_streams "), std::string::npos) << runner;
  EXPECT_EQ(runner.find("\nhostler_runner_events_total 0\n"), std::string::npos) << runner;
}

TEST_F(WholeStackTest, FiftySubscribersReadTheSameLines) {
  PrivateStack::User user = stack_.new_user("[words 60]");
  std::string run_id = stack_.start_run(user);
  std::vector<EventStream> readings = read_streams(stack_, run_id, user.client.token, 50);
  EventStream late = read_stream(stack_, run_id, user.client.token);
  ASSERT_EQ(late.types(), "run.started run.completed");
  for (const EventStream& reading : readings) {
    EXPECT_EQ(reading.frames(), late.frames()) << reading.failure;
  }
}

TEST_F(WholeStackTest, ASubscriberThatComesBackAfterEachEventMissesAndRepeatsNothing) {
  PrivateStack::User user = stack_.new_user("[words 25]");
  std::string run_id = stack_.start_run(user);
  EventStream reading = read_whole_stream(stack_, run_id, user.client.token, 1);
  EXPECT_EQ(reading.seqs(), one_to(reading.seqs().size()));
  EXPECT_EQ(shown_text(reading), stored_answer(user));
}

TEST_F(WholeStackTest, ASubscriberThatReadsSlowlyDelaysNobodyAndMissesNothing) {
  PrivateStack::User user = stack_.new_user("[delay 0] [words 20000]");
  std::string run_id = stack_.start_run(user);
  EventStream quick = read_whole_stream(stack_, run_id, user.client.token);
  ASSERT_EQ(quick.types(), "run.started run.completed");
  EventStream slow = read_whole_stream(stack_, run_id, user.client.token, 40);
  EXPECT_EQ(slow.frames(), quick.frames());
}

TEST_F(WholeStackTest, ACancelledRunEndsWithinASecondAndKeepsItsText) {
  PrivateStack::User user = stack_.new_user("[words 500]");
  std::string run_id = stack_.start_run(user);
  EventStream begun = read_stream(stack_, run_id, user.client.token, 0, 5);
  int64_t start_ms = monotonic_ms();
  EXPECT_EQ(user.client.post("/v1/runs/" + run_id + ":cancel").status, 200);
  EventStream reading = read_whole_stream(stack_, run_id, user.client.token);
  EXPECT_LE(monotonic_ms() - start_ms, 1000);
  EXPECT_EQ(reading.types(), "run.started run.cancelled");
  EXPECT_EQ(shown_text(reading), stored_answer(user));
}

TEST_F(WholeStackTest, ADaemonKilledInTheMiddleOfARunLosesNothing) {
  PrivateStack::User user = stack_.new_user("[words 80]");
  std::string run_id = stack_.start_run(user);
  EventStream begun = read_stream(stack_, run_id, user.client.token, 0, 10);
  ASSERT_GE(begun.seqs().size(), 10U);
  kill(stack_.pid("RUNNER_PIDS"), SIGKILL);
  stack_.up();
  EventStream reading = read_whole_stream(stack_, run_id, user.client.token);
  EXPECT_EQ(reading.types(), "run.started run.resumed run.completed");
  EXPECT_EQ(reading.seqs(), one_to(reading.seqs().size()));
  EXPECT_EQ(shown_text(reading), stored_answer(user));
}

TEST_F(WholeStackTest, ADaemonThatIsToldToStopHandsItsRunsOver) {
  PrivateStack::User user = stack_.new_user("[words 80]");
  std::string run_id = stack_.start_run(user);
  EventStream begun = read_stream(stack_, run_id, user.client.token, 0, 10);
  auto streams_opened = [&] {
    std::string reported = run_program({"/usr/bin/curl", "-s", "--unix-socket",
                                        stack_.env("METRICS_RUNNER"), "http://localhost/metrics"})
                               .out;
    constexpr std::string_view name = "\nhostler_runner_streams_opened_total ";
    size_t at = reported.find(name);
    return at == reported.npos ? -1 : std::strtol(reported.c_str() + at + name.size(), nullptr, 10);
  };
  int64_t opened_before = streams_opened();
  ASSERT_GT(opened_before, 0);
  EventStream cut_off;
  std::thread subscriber(
      [&] { cut_off = read_stream(stack_, run_id, user.client.token, begun.seqs().back()); });
  EXPECT_TRUE(eventually(20'000, [&] { return streams_opened() > opened_before; }));
  pid_t daemon = stack_.pid("RUNNER_PIDS");
  kill(daemon, SIGTERM);
  std::string program = fmt::format("/proc/{}/exe", daemon);  // nothing, of a zombie
  EXPECT_TRUE(eventually(25'000, [&] { return !std::filesystem::is_regular_file(program); }));
  subscriber.join();
  // Told when to come back, not just cut.
  EXPECT_TRUE(cut_off.has_ended_cleanly) << cut_off.failure;
  EXPECT_NE(cut_off.text.rfind("\nretry: "), cut_off.text.find("\nretry: ")) << cut_off.text;
  stack_.up();
  EventStream reading = read_whole_stream(stack_, run_id, user.client.token);
  EXPECT_EQ(reading.types(), "run.started run.resumed run.completed");
  EXPECT_EQ(reading.seqs(), one_to(reading.seqs().size()));
  EXPECT_EQ(shown_text(reading), stored_answer(user));
}

class PostgresCrash : public WholeStackTest {
 protected:
  void expect_service_after_a_crash() {
    PrivateStack::User user = stack_.new_user("[words 250]");
    std::string run_id = stack_.start_run(user);
    std::thread subscriber_thread;
    EventStream reading;
    subscriber_thread =
        std::thread([&] { reading = read_whole_stream(stack_, run_id, user.client.token); });
    std::atomic<bool> stops = false;
    std::atomic<int64_t> served = 0;
    std::atomic<int64_t> last_refused_ms = 0;
    std::string strange;
    std::thread load([&] {
      testing_support::Line line(stack_.env("BASE_URL"), stack_.env("CA_CERT"));
      testing_support::Client client(line);
      client.token = user.client.token;
      while (!stops) {
        Answer answer = client.get("/v1/me");
        if (answer.status == 200) {
          ++served;
        } else if (answer.status == 503) {
          last_refused_ms = monotonic_ms();
        } else {
          strange = fmt::format("{} {}", answer.status, answer.body);
        }
      }
    });
    EXPECT_TRUE(eventually(20'000, [&] { return served >= 20; }));
    stack_.restart_postgres();
    int64_t back_ms = monotonic_ms();
    int64_t served_before = served;
    EXPECT_TRUE(eventually(20'000, [&] { return served >= served_before + 200; }))
        << "no service again";
    stops = true;
    load.join();
    subscriber_thread.join();
    EXPECT_EQ(strange, "");
    EXPECT_LE(last_refused_ms - back_ms, 5000) << "refused too long after Postgres was back";
    // The run waited for its database and went on; its subscriber saw all of it.
    EXPECT_EQ(reading.types(), "run.started run.completed");
    EXPECT_EQ(reading.seqs(), one_to(reading.seqs().size()));
    EXPECT_EQ(shown_text(reading), stored_answer(user));
  }
};

// POSTGRES_CRASHES (1; `make soak`: 30).
TEST_F(PostgresCrash, UnderLoadCostsAtMostSomeSecondsOf503) {
  for (int64_t i = 0; i < parameter("POSTGRES_CRASHES", 1); ++i) expect_service_after_a_crash();
}

TEST_F(WholeStackTest, AWorkerThatIsKilledIsReplaced) {
  PrivateStack::User user = stack_.new_user("hello");
  std::string children = fmt::format("/proc/{0}/task/{0}/children", stack_.env("API_PID"));
  std::string before = testing_support::read_text_file(children);
  ASSERT_NE(before, "");
  for (const char* at = before.c_str(); *at != '\0';) {
    char* end = nullptr;
    long worker = strtol(at, &end, 10);
    if (worker > 0) kill(static_cast<pid_t>(worker), SIGKILL);
    if (end == at) break;
    at = end;
  }
  EXPECT_TRUE(eventually(10'000, [&] { return user.client.get("/v1/me").status == 200; }));
}

}  // namespace
}  // namespace hostler
