// A daemon that hears of no new run: notifications are a hint, so runs start anyway, a poll
// later; and a connection that has fallen silent is found out, made again, and looked through.
//
// LISTEN_HOLES (3; `make soak`: 20): how often the connection falls silent.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "queries/runs.h"
#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/peers/faulty_proxy.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_fixture.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

// A poll a second, and what a busy machine adds to it.
constexpr double poll_s_max = 1.5;
constexpr int64_t patience_ms = 30'000;

class ListenHole : public testing::Test {
 protected:
  ListenHole() : proxy_(TestDatabase::socket()), stack_(behind(proxy_)) { add_fake_model(stack_); }

  static ApiStackOptions behind(const FaultyProxy& line) {
    ApiStackOptions options;
    options.has_runner = true;
    options.runner_database_host = line.folder();
    return options;
  }

  // Seconds from a run's creation to its claim; a failure when nobody takes it.
  double wait_of(const std::string& run_id) {
    std::string started =
        fmt::format("SELECT count(*) FROM runs WHERE started_at IS NOT NULL AND id = '{}'", run_id);
    EXPECT_TRUE(eventually(patience_ms, [&] { return sql_number(stack_, started) > 0; }));
    std::string microseconds =
        "SELECT (extract(epoch FROM started_at - created_at) * 1e6)::bigint FROM runs "
        "WHERE id = '{}'";
    return double(sql_number(stack_, fmt::format(fmt::runtime(microseconds), run_id))) / 1e6;
  }

  FaultyProxy proxy_;
  ApiStack stack_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

TEST_F(ListenHole, DelaysARunByAPollAtMost) {
  TestUser user = register_user(stack_);
  std::vector<double> received;
  for (int i = 0; i < 9; ++i) received.push_back(wait_of(start_output(user.client, "[words 1]")));
  // The same without the notification that the API sends after the commit.
  RunFixture fixture(stack_.database());
  std::vector<double> unheard;
  for (int i = 0; i < 9; ++i) unheard.push_back(wait_of(fixture.new_run(fixture.new_thread())));
  EXPECT_LE(*std::max_element(unheard.begin(), unheard.end()), poll_s_max);
  // Else the poll would hide that nobody hears anything.
  EXPECT_LT(median(received), 0.1);
  EXPECT_GT(median(unheard), median(received));
}

TEST_F(ListenHole, IsFoundOutAndMended) {
  TestUser user = register_user(stack_);
  for (int hole = 0; hole < parameter("LISTEN_HOLES", 3); ++hole) {
    SCOPED_TRACE(hole);
    int before = proxy_.faults();
    int connections = proxy_.connections();
    // Probe of the connection that listens, several times a second.
    proxy_.arm({FaultKind::half_open, LineEnd::client, "listening_check"});
    ASSERT_TRUE(proxy_.wait_for(before + 1)) << "no connection fell silent";
    std::string run_id = start_output(user.client, "[words 1]");
    EXPECT_LE(wait_of(run_id), poll_s_max);
    // A poll may have come before the silence was found out.
    EXPECT_TRUE(eventually(patience_ms, [&] { return proxy_.connections() > connections; }))
        << "nobody connected anew";
    EXPECT_EQ(wait_for_status(user.client, run_id, "completed"), "completed");
    // It hears again: no poll is that quick for three in a row.
    std::vector<double> received;
    for (int i = 0; i < 5; ++i) received.push_back(wait_of(start_output(user.client, "[words 1]")));
    EXPECT_LT(median(received), 0.1);
  }
}

}  // namespace
}  // namespace hostler::testing_support
