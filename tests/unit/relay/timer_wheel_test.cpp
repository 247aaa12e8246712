// The wheel that says when to look at a client, and the semaphore that lets few ask at once.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lib/loop/task_set.h"
#include "lib/loop/wait.h"
#include "sse-relay/semaphore.h"
#include "sse-relay/timer_wheel.h"

namespace hostler::relay {
namespace {

struct Client : TimerWheel::Entry {};

class Wheel : public ::testing::Test {
 protected:
  Client& new_client() {
    clients.push_back(std::make_unique<Client>());
    return *clients.back();
  }
  std::vector<Client*> visited(int64_t now_ms) {
    std::vector<Client*> out;
    wheel.advance(
        now_ms, [&out](TimerWheel::Entry& entry) { out.push_back(static_cast<Client*>(&entry)); });
    return out;
  }

  std::vector<std::unique_ptr<Client>> clients;
  TimerWheel wheel{10, 1000};
};

TEST_F(Wheel, VisitsEachClientOnceWhenItIsDue) {
  Client& soon = new_client();
  Client& later = new_client();
  wheel.schedule(soon, 1025);
  wheel.schedule(later, 1300);
  EXPECT_TRUE(visited(1020).empty());
  EXPECT_EQ(visited(1030), std::vector<Client*>{&soon});
  EXPECT_TRUE(visited(1299).empty());
  EXPECT_EQ(visited(1305), std::vector<Client*>{&later});
  EXPECT_TRUE(visited(5000).empty());
}

TEST_F(Wheel, TakesTheLastPlaceThatWasGiven) {
  Client& client = new_client();
  wheel.schedule(client, 1050);
  wheel.schedule(client, 1200);
  EXPECT_TRUE(visited(1190).empty());
  EXPECT_EQ(visited(1200).size(), 1U);
}

TEST_F(Wheel, ForgetsWhoIsRemoved) {
  std::vector<Client*> kept;
  for (int i = 0; i < 20; ++i) {
    Client& client = new_client();
    wheel.schedule(client, 1050);
    if (i % 3 == 0) {
      wheel.remove(client);
      wheel.remove(client);
    } else {
      kept.push_back(&client);
    }
  }
  std::vector<Client*> found = visited(1050);
  EXPECT_EQ(std::set<Client*>(found.begin(), found.end()),
            std::set<Client*>(kept.begin(), kept.end()));
}

TEST_F(Wheel, VisitsEarlyWhatIsFartherThanItIsRound) {
  Client& client = new_client();
  wheel.schedule(client, 100'000);
  EXPECT_TRUE(visited(1600).empty());
  EXPECT_EQ(visited(1640).size(), 1U);
}

TEST_F(Wheel, GoesOnAfterALongPause) {
  Client& before = new_client();
  wheel.schedule(before, 1050);
  EXPECT_EQ(visited(1'000'000), std::vector<Client*>{&before});
  Client& after = new_client();
  wheel.schedule(after, 1'000'050);
  EXPECT_TRUE(visited(1'000'040).empty());
  EXPECT_EQ(visited(1'000'050), std::vector<Client*>{&after});
}

TEST_F(Wheel, LetsAVisitPlaceOrDestroyItsClient) {
  Client& again = new_client();
  Client& gone = new_client();
  wheel.schedule(again, 1050);
  wheel.schedule(gone, 1050);
  int visits = 0;
  auto visit = [&](TimerWheel::Entry& entry) {
    ++visits;
    if (&entry == &again) {
      if (visits < 3) wheel.schedule(entry, 1100);
    } else {
      wheel.remove(entry);
      clients[1].reset();
    }
  };
  wheel.advance(1060, visit);
  wheel.advance(1200, visit);
  EXPECT_EQ(visits, 3);
}

struct Passing {
  loop::Loop loop;
  Semaphore semaphore{loop, 2};
  loop::Signal go;
  loop::TaskSet tasks{loop, [](const std::string&, std::exception_ptr) {}};
  int inside = 0;
  int max = 0;
  int passed = 0;

  Task<void> pass() {
    Semaphore::Permit permit(semaphore);
    co_await permit;
    max = std::max(max, ++inside);
    co_await go.wait();
    --inside;
    ++passed;
  }
  Task<void> hurry() {
    Semaphore::Permit permit(semaphore);
    co_await permit;
    ++passed;
  }
  void turn() {
    for (int i = 0; i < 3; ++i) loop.run_once();
  }
};

TEST(Semaphore, LetsFewInAndTheOthersInTheirTurn) {
  Passing passing;
  for (int i = 0; i < 7; ++i) passing.tasks.add(passing.pass());
  EXPECT_EQ(passing.inside, 2);
  EXPECT_TRUE(passing.semaphore.is_full());
  for (int i = 0; i < 4; ++i) {
    passing.go.notify();
    passing.turn();
  }
  EXPECT_EQ(passing.passed, 7);
  EXPECT_EQ(passing.max, 2);
  EXPECT_FALSE(passing.semaphore.is_full());
}

TEST(Semaphore, ForgetsWhoGoesAwayInsideAndInLine) {
  Passing passing;
  passing.tasks.add("inside", passing.pass());
  passing.tasks.add("other", passing.pass());
  passing.tasks.add("waits", passing.pass());
  passing.tasks.add("last", passing.pass());
  passing.tasks.erase("waits");
  passing.tasks.erase("inside");
  passing.turn();
  EXPECT_EQ(passing.inside, 3);  // the erased one left without counting down
  passing.go.notify();
  passing.turn();
  EXPECT_EQ(passing.passed, 2);
  EXPECT_FALSE(passing.semaphore.is_full());
}

TEST(Semaphore, CarriesAnyNumberWithoutAGrowingStack) {
  Passing passing;
  for (int i = 0; i < 2; ++i) passing.tasks.add(passing.pass());
  for (int i = 0; i < 100'000; ++i) passing.tasks.add(passing.hurry());
  passing.go.notify();
  passing.turn();
  EXPECT_EQ(passing.passed, 100'002);
}

}  // namespace
}  // namespace hostler::relay
