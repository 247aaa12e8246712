// Tests what becomes of a program whose tasks end: nothing, unless they were essential.
#include "lib/loop/task_set.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

namespace hostler {
namespace {

struct Fixture {
  loop::Loop loop;
  std::string failed;
  loop::TaskSet tasks{loop, [this](const std::string& name, const std::exception_ptr& failure) {
                        failed += name + ": " + loop::cause_of(failure) + ";";
                      }};
  // Some turns of the loop, in which the tasks end.
  void turn() {
    for (int i = 0; i < 5; ++i) loop.run_once();
  }
};

Task<void> ends_well(loop::Signal& signal) { co_await signal.wait(); }
Task<void> breaks(loop::Signal& signal) {
  co_await signal.wait();
  throw std::runtime_error("it broke");
}
Task<void> keeps(loop::Signal& signal, std::shared_ptr<int>) { co_await signal.wait(); }
// How many keep what is held when no task is left; -1 before.
Task<void> note_end(loop::TaskSet& tasks, const std::shared_ptr<int>& held, long& holders) {
  co_await tasks.ended();
  holders = held.use_count();
}
Task<void> breaks_at_once() {
  throw std::runtime_error("it broke at once");
  co_return;
}

TEST(TaskSet, GoesOnWithoutATaskThatBroke) {
  Fixture fixture;
  loop::Signal signal;
  fixture.tasks.add("a", breaks(signal));
  fixture.tasks.add("b", ends_well(signal));
  fixture.tasks.add_essential("c", ends_well(signal));
  signal.notify();
  fixture.turn();
  EXPECT_EQ(fixture.failed, "a: it broke;");
  EXPECT_TRUE(fixture.tasks.empty());
}

// Like a run that waits, is answered and claimed again in the turn in which its task ended.
TEST(TaskSet, TakesANameAgainInTheTurnInWhichItsTaskEnded) {
  Fixture fixture;
  loop::Signal first, second;
  fixture.tasks.add("run", ends_well(first));
  loop::Timer again(fixture.loop, [&] {
    first.notify();
    fixture.tasks.erase("run");
    fixture.tasks.add("run", ends_well(second));
  });
  again.restart(0);
  fixture.turn();
  EXPECT_TRUE(fixture.tasks.contains("run")) << "the end of the first one took the second away";
  second.notify();
  fixture.turn();
  EXPECT_TRUE(fixture.tasks.empty());
}

TEST(TaskSet, EndsTheProcessWithAnEssentialTaskThatBroke) {
  auto drop_one = [] {
    Fixture fixture;
    loop::Signal signal;
    fixture.tasks.add_essential("leases", breaks(signal));
    signal.notify();
    fixture.turn();
  };
  EXPECT_EXIT(drop_one(), testing::ExitedWithCode(loop::exit_task_ended),
              "essential_task_ended.*leases.*it broke");
  auto drop_one_at_once = [] {
    Fixture fixture;
    fixture.tasks.add_essential("begin", breaks_at_once());
  };
  EXPECT_EXIT(drop_one_at_once(), testing::ExitedWithCode(loop::exit_task_ended),
              "it broke at once");
}

TEST(TaskSet, EndsTheProcessWithATaskThatWasToLiveForEver) {
  auto drop_one = [](bool by_exception) {
    Fixture fixture;
    loop::Signal signal;
    fixture.tasks.add_forever("claims", by_exception ? breaks(signal) : ends_well(signal));
    signal.notify();
    fixture.turn();
  };
  EXPECT_EXIT(drop_one(true), testing::ExitedWithCode(loop::exit_task_ended), "claims.*it broke");
  EXPECT_EXIT(drop_one(false), testing::ExitedWithCode(loop::exit_task_ended),
              "claims.*it returned");
}

TEST(TaskSet, LetsEssentialTasksEndWhenTheProgramStops) {
  Fixture fixture;
  loop::Signal signal;
  fixture.tasks.add_forever("claims", ends_well(signal));
  fixture.tasks.add_forever("leases", breaks(signal));
  fixture.tasks.may_end();
  signal.notify();
  fixture.turn();
  EXPECT_EQ(fixture.failed, "leases: it broke;");
  EXPECT_TRUE(fixture.tasks.empty());
}

// An end from outside is no fault of the task.
TEST(TaskSet, LetsEssentialTasksBeErased) {
  loop::Signal signal;
  Fixture fixture;
  fixture.tasks.add_forever("claims", ends_well(signal));
  fixture.tasks.add_forever("leases", ends_well(signal));
  fixture.tasks.erase("claims");
  fixture.tasks.clear();
  fixture.turn();
  EXPECT_EQ(fixture.failed, "");
}

// A waiter for the end may destroy the things that the tasks used.
TEST(TaskSet, TellsOfItsEndWhenTheLastTaskThatWasErasedIsGone) {
  loop::Signal signal;
  Fixture fixture;
  std::shared_ptr<int> held = std::make_shared<int>(0);
  for (bool is_cleared : {false, true}) {
    long holders = -1;
    fixture.tasks.add("a", keeps(signal, held));
    fixture.tasks.add("b", keeps(signal, held));
    Task<void> waiter = note_end(fixture.tasks, held, holders);
    waiter.start(nullptr);
    if (!is_cleared) fixture.tasks.erase("a");
    EXPECT_EQ(holders, -1);
    if (is_cleared) {
      fixture.tasks.clear();
    } else {
      fixture.tasks.erase("b");
    }
    EXPECT_EQ(holders, 1);
  }
}

}  // namespace
}  // namespace hostler
