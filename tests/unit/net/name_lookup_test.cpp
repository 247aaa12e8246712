// Look-ups that nobody waits for any more.
#include "lib/net/name_lookup.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "lib/loop/wait.h"
#include "tests/support/peers/fake_names.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::FakeNames;
using testing_support::run_task;

// Half of libuv's threads take names, at most 32 of the 64 that some of these tests ask for.
TEST(NameLookup, IsTakenBackWithItsAskerBeforeAThreadBegins) {
  constexpr int more_than_threads = 40;
  loop::Loop loop;
  std::atomic<bool> may_answer{false};
  std::atomic<int> asked{0};
  std::weak_ptr<int> last_kept;
  {
    FakeNames names([&](const std::string&) {
      ++asked;
      may_answer.wait(false);
      return std::vector<std::string>{"192.0.2.1"};
    });
    for (int i = 0; i < more_than_threads; ++i) {
      auto kept = std::make_shared<int>(i);
      last_kept = kept;
      auto found =
          run_task(loop, net::look_up_name(loop, "slow.fake-names.test", 1, std::move(kept)));
      EXPECT_TRUE(found.empty());
    }
    // On a busy machine a pause is over before the loop looked at what was taken back.
    for (int i = 0; i < 1'000 && !last_kept.expired(); ++i) run_task(loop, loop::sleep_ms(loop, 1));
    EXPECT_TRUE(last_kept.expired()) << "it waited for a thread";
    may_answer = true;
    may_answer.notify_all();
    auto found = run_task(loop, net::look_up_name(loop, "quick.fake-names.test", 5'000));
    EXPECT_EQ(found.size(), 1);
  }
  EXPECT_LT(asked, more_than_threads) << "what nobody waited for was looked up all the same";
}

}  // namespace
}  // namespace hostler
