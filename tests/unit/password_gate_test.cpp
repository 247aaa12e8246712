// Few password hashes at once, few that wait: fcgi/password_gate.h.
#include "fcgi/password_gate.h"

#include <gtest/gtest.h>

#include "lib/error.h"
#include "lib/loop/task_set.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

Task<void> hash_one(PasswordGate& gate, int& done, int& most_waiting, Loop& loop, int last) {
  most_waiting = std::max(most_waiting, gate.waiting());
  std::string hashed = co_await gate.hash("a password", PasswordQueue::brief);
  if (++done == last) loop.stop();
}

TEST(PasswordGate, HashesAndChecks) {
  Loop loop;
  PasswordPlaces places(1);
  PasswordGate gate(loop, places, 0);
  std::string stored = testing_support::run_task(loop, gate.hash("correct horse"));
  EXPECT_TRUE(testing_support::run_task(loop, gate.check("correct horse", stored)).matches);
  EXPECT_FALSE(testing_support::run_task(loop, gate.check("wrong horse", stored)).matches);
}

TEST(PasswordGate, RefusesWhatCannotWaitAndServesAllThatCan) {
  Loop loop;
  PasswordPlaces places(1);
  PasswordGate gate(loop, places, 0);
  int refused = 0;
  TaskSet tasks(loop, [&refused](const std::string&, std::exception_ptr fault) {
    try {
      std::rethrow_exception(fault);
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::overload_busy);
      EXPECT_GT(error.retry_after_s, 0);
      ++refused;
    }
  });
  constexpr int room = PasswordPlaces::running_max + PasswordGate::brief_waiting_max;
  int done = 0;
  int most_waiting = 0;
  for (int i = 0; i < room + 5; ++i) tasks.add(hash_one(gate, done, most_waiting, loop, room));
  EXPECT_EQ(refused, 5);
  EXPECT_EQ(gate.waiting(), PasswordGate::brief_waiting_max);
  loop.run();
  EXPECT_EQ(done, room);
  EXPECT_EQ(gate.waiting(), 0);
}

TEST(PasswordGate, GivesThePlaceOfACancelledRequestToTheNext) {
  Loop loop;
  PasswordPlaces places(1);
  PasswordGate gate(loop, places, 0);
  {
    Task<std::string> first = gate.hash("a");
    Task<std::string> second = gate.hash("b");
    Task<std::string> third = gate.hash("c");
    first.start(nullptr);
    second.start(nullptr);
    third.start(nullptr);
    EXPECT_EQ(gate.waiting(), 1);
  }
  EXPECT_EQ(gate.waiting(), 0);
  EXPECT_FALSE(testing_support::run_task(loop, gate.hash("d")).empty());
}

TEST(PasswordGate, SharesItsTwoPlacesWithTheOtherWorkers) {
  Loop loop;
  PasswordPlaces places(2);
  PasswordGate ours(loop, places, 0);
  ASSERT_TRUE(places.take(1));
  ASSERT_TRUE(places.take(1));
  // Nobody tells of a place that another process leaves: the gate looks again by itself.
  Timer leaver(loop, [&ours, &places] {
    EXPECT_EQ(ours.waiting(), 1);
    places.leave(1);
  });
  leaver.restart(1);
  EXPECT_FALSE(testing_support::run_task(loop, ours.hash("a")).empty());
}

TEST(PasswordPlaces, AreFreedOfAWorkerThatDied) {
  PasswordPlaces places(2);
  places.take(0);
  places.take(1);
  places.begin_wait(1);
  EXPECT_FALSE(places.take(0));
  places.clear(1);
  EXPECT_EQ(places.waiting_in_pool(), 0);
  EXPECT_TRUE(places.take(1));
  EXPECT_FALSE(places.take(1)) << "the place of the other is its own";
}

}  // namespace
}  // namespace hostler
