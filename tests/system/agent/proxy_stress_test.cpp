// Lines to Postgres break anywhere: the daemon's under runs, the pool's between a commit and its
// answer. Runs end whole, and a call that is repeated under its key happens once.
//
// PROXY_STRESS_FAULTS (25; `make soak`: 300) under runs, PROXY_STRESS_CALLS (40; `make soak`: 500)
// whose commit is not answered, PROXY_STRESS_SEED (random, printed).
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/peers/faulty_proxy.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rigs/run_program.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t patience_ms = 60'000;
constexpr const char* adjust_path = "/v1/admin/credits/adjust";

std::string ledger_output(ApiStack& stack) {
  ProgramRun verified =
      run_ctl({"ledger", "verify"}, {"HOSTLER_DATABASE_URL=" + stack.database().superuser_url()});
  return verified.status == 0 ? "" : verified.out + verified.err;
}

TEST(ProxyStress, OfTheDaemonLeavesEveryRunWhole) {
  FaultyProxy line(TestDatabase::socket());
  ApiStackOptions options;
  options.has_runner = true;
  options.runner_database_host = line.folder();
  options.settings = {"HOSTLER_LIMIT_CONCURRENT_RUNS=100000"};
  ApiStack stack(options);
  add_fake_model(stack);
  TestUser user = register_user(stack);
  unsigned seed = static_cast<unsigned>(parameter("PROXY_STRESS_SEED", std::random_device{}()));
  SCOPED_TRACE(fmt::format("PROXY_STRESS_SEED={}", seed));
  std::minstd_rand random(seed);
  int64_t faults = parameter("PROXY_STRESS_FAULTS", 25);
  int64_t runs = 0;
  for (int64_t i = 0; i < faults; ++i) {
    for (int j = 0; j < 4; ++j, ++runs) start_output(user.client, "[delay 10] [words 30]");
    constexpr FaultKind kinds[] = {FaultKind::cut, FaultKind::reset, FaultKind::half_open,
                                   FaultKind::swallow, FaultKind::delay};
    ProxyFault fault;
    fault.kind = kinds[random() % std::size(kinds)];
    fault.sender = random() % 2 == 0 ? LineEnd::client : LineEnd::server;
    if (random() % 2 == 0) {
      fault.at = fault.sender == LineEnd::server ? committed_answer() : commit_request();
    }
    fault.passing = random() % 20;
    fault.delay_ms = 200;
    line.arm(fault);
    at_some_moment(random, 300);
  }
  line.disarm();
  EXPECT_GE(line.faults(), faults / 5) << "the faults met nobody";
  EXPECT_TRUE(all_runs_end(stack, patience_ms)) << "runs are stuck";
  EXPECT_EQ(run_faults(stack), "");
  EXPECT_EQ(ledger_output(stack), "");
  EXPECT_EQ(sql_number(stack, "SELECT count(*) FROM runs WHERE status = 'completed'"), runs);
  EXPECT_EQ(sql_number(stack, "SELECT sum(held)::bigint FROM credit_accounts"), 0);
}

class CommitStress : public testing::Test {
 protected:
  CommitStress()
      : proxy_(TestDatabase::socket()),
        stack_(behind(proxy_)),
        admin_(register_admin(stack_)),
        user_(register_user(stack_)) {}

  static ApiStackOptions behind(const FaultyProxy& line) {
    ApiStackOptions options;
    options.api_database_host = line.folder();
    return options;
  }

  // Adds one credit; its commit is not answered. Asks again, as a client does, until it gets an
  // answer.
  void add_one(const std::function<std::string()>& key, bool is_swallowed) {
    FaultKind kind = is_swallowed ? FaultKind::swallow : FaultKind::cut;
    proxy_.arm({kind, LineEnd::server, committed_answer()});
    EXPECT_TRUE(eventually(patience_ms, [&] {
      Call call{"POST", adjust_path, {}, "application/json", {{"Idempotency-Key", key()}}};
      call.body = fmt::format(R"({{"org_id":"{}","amount":1,"note":"storm"}})", user_.org_id);
      return admin_.client.send(call).status == 200;
    })) << "the call is never answered";
  }

  int64_t balance() {
    return sql_number(stack_,
                      "SELECT balance FROM credit_accounts WHERE org_id = '" + user_.org_id + "'");
  }

  FaultyProxy proxy_;
  ApiStack stack_;
  TestUser admin_;
  TestUser user_;
};

TEST_F(CommitStress, OfCallsWithAKeyMakesEachHappenOnce) {
  int64_t calls = parameter("PROXY_STRESS_CALLS", 40);
  int64_t before = balance();
  for (int64_t i = 0; i < calls; ++i) {
    add_one([i] { return fmt::format("storm-{}", i); }, i % 20 == 19);
  }
  EXPECT_GE(proxy_.faults(), calls) << "not every commit went unanswered";
  EXPECT_EQ(balance(), before + calls);
  EXPECT_EQ(ledger_output(stack_), "");
}

// A client that takes a new key for each try makes its calls twice: the count above would see it.
TEST_F(CommitStress, CatchesCallsThatHappenTwice) {
  int64_t before = balance();
  int tries = 0;
  for (int i = 0; i < 3; ++i) {
    add_one([&tries] { return fmt::format("try-{}", ++tries); }, false);
  }
  EXPECT_GT(balance(), before + 3);
}

}  // namespace
}  // namespace hostler::testing_support
