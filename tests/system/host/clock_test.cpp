// The clock of the host jumps, by minutes and by more than a year, both ways, while runs are under
// way. Leases, sessions and what is stored go by the database's clock, waits and rate limits by one
// that never jumps: nothing changes but the times in the logs, which are how the test knows that it
// did jump.
//
// CLOCK_STEPS (20; `make soak`: 400).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>

#include "lib/time_text.h"
#include "tests/support/clients/stream_client.h"
#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rigs/run_program.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t day_s = 86'400;
constexpr int64_t far_s = 400 * day_s;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif

class SteppedClock : public testing::Test {
 protected:
  void SetUp() override {
    if (is_sanitized) GTEST_SKIP() << "sanitizers want to be loaded before the clock";
  }

  // Clock of both programs, read by tests/support/clock.
  class Step {
   public:
    Step() {
      path_ = (std::filesystem::temp_directory_path() / "clock-XXXXXX").string();
      fd_ = mkostemp(path_.data(), O_CLOEXEC);
      to(0);
    }
    ~Step() {
      close(fd_);
      std::filesystem::remove(path_);
    }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    void to(int64_t seconds) { EXPECT_EQ(pwrite(fd_, &seconds, sizeof seconds, 0), 8); }
    const std::string& path() const { return path_; }

   private:
    std::string path_;
    int fd_ = -1;
  };

  static ApiStackOptions options(const Step& step) {
    ApiStackOptions options;
    options.has_runner = true;
    options.settings = {
        "LD_PRELOAD=" + std::filesystem::absolute(build_folder()).string() + "/stepped-clock.so",
        "STEPPED_CLOCK=" + step.path(), "HOSTLER_RUN_LEASE_SECONDS=2",
        "HOSTLER_MODEL_IDLE_TIMEOUT_MS=5000",
        fmt::format("HOSTLER_LIMIT_ANONYMOUS_REQUESTS_PER_MINUTE={}", anonymous_a_minute)};
    return options;
  }
  static constexpr int anonymous_a_minute = 30;

  Step step_;
};

TEST_F(SteppedClock, ChangesNoLeaseNoWaitAndNoSession) {
  ApiStack stack(options(step_));
  add_fake_model(stack, R"("output_usd_per_mtok":20)");
  TestUser user = register_user(stack);
  int64_t steps = parameter("CLOCK_STEPS", 20);
  // Long enough that something is written behind each step.
  std::string script = fmt::format("[delay 20] [words {}] [pause 1500] [words 20]",
                                   std::max<int64_t>(80, 6 * steps));
  std::vector<std::string> run_ids;
  for (int i = 0; i < 3; ++i) run_ids.push_back(start_output(user.client, script));
  StreamClient subscriber(stack.folder() + "/stream.sock",
                          {run_ids[0], user.client.token, "", "", {}});
  ASSERT_TRUE(subscriber.read_until("message.delta"));
  const char* events = "SELECT count(*) FROM run_events";
  constexpr int64_t steps_s[] = {600, -600, day_s, -day_s, far_s, -far_s, 0};
  for (int64_t i = 0; i < steps; ++i) {
    step_.to(steps_s[static_cast<size_t>(i) % std::size(steps_s)]);
    // The runs are written on: what the daemon does next, it does with the new time.
    int64_t written = sql_number(stack, events);
    EXPECT_TRUE(eventually(5'000, [&] { return sql_number(stack, events) > written + 2; }));
    EXPECT_EQ(user.client.get("/v1/me").status, 200) << "the session is over";
    EXPECT_EQ(user.client.post("/v1/threads", "{}").status, 201);
  }
  for (const std::string& run_id : run_ids) {
    EXPECT_EQ(wait_for_status(user.client, run_id, "completed"), "completed");
  }
  EXPECT_TRUE(subscriber.read_to_end());
  EXPECT_NE(subscriber.frames().find("run.completed"), std::string::npos);
  EXPECT_EQ(sql_number(stack, "SELECT sum(take_overs)::bigint FROM runs"), 0) << "a lease lapsed";
  EXPECT_EQ(run_faults(stack), "");
  EXPECT_EQ(money_faults(stack), "");
  EXPECT_EQ(sql_number(stack,
                       "SELECT count(*) FROM run_events WHERE created_at NOT BETWEEN "
                       "clock_timestamp() - interval '1 hour' AND clock_timestamp()"),
            0)
      << "stored with the host's time";

  // It did jump: what the daemon logs now is of that day.
  step_.to(far_s);
  EXPECT_EQ(run_story(user.client, "[status 400]").status, "failed");
  std::string day = rfc3339(unix_now_ms() + far_s * 1000).substr(0, 10);
  EXPECT_NE(read_text_file(stack.folder() + "/runner.log").find("\"time\":\"" + day),
            std::string::npos)
      << "no line of " << day;
}

TEST_F(SteppedClock, FillsNoBucket) {
  ApiStack stack(options(step_));
  Client nobody = stack.client();
  int status = 0;
  for (int i = 0; i < 4 * anonymous_a_minute && status != 429; ++i) {
    status = nobody.get("/v1/me").status;
  }
  ASSERT_EQ(status, 429);
  for (int64_t seconds : {far_s, -far_s, int64_t{3600}}) {
    step_.to(seconds);
    // A token comes in every two seconds, for one request; not a bucket full of them.
    int64_t begin_ms = monotonic_ms();
    int through = 0;
    for (int i = 0; i < 10; ++i) through += nobody.get("/v1/me").status == 429 ? 0 : 1;
    EXPECT_LE(through, 1 + (monotonic_ms() - begin_ms) * anonymous_a_minute / 60'000) << seconds;
  }
}

}  // namespace
}  // namespace hostler::testing_support
