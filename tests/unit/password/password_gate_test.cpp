// Few password hashes at once, few that wait: fcgi/password/password_gate.h.
#include "fcgi/password/password_gate.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "lib/error.h"
#include "lib/loop/task_set.h"
#include "tests/support/rigs/child.h"
#include "tests/support/run_task.h"
#include "tests/support/scarce.h"

namespace hostler {
namespace {

Task<void> hash_one(PasswordGate& gate, int& done, int& most_waiting, loop::Loop& loop, int last) {
  most_waiting = std::max(most_waiting, gate.waiting());
  std::string hashed = co_await gate.hash("a password", PasswordQueue::brief);
  if (++done == last) loop.stop();
}

TEST(PasswordGate, HashesAndChecks) {
  loop::Loop loop;
  PasswordPlaces places(1);
  PasswordGate gate(loop, places, 0);
  std::string stored = testing_support::run_task(loop, gate.hash("correct horse"));
  EXPECT_TRUE(testing_support::run_task(loop, gate.check("correct horse", stored)).matches);
  EXPECT_FALSE(testing_support::run_task(loop, gate.check("wrong horse", stored)).matches);
}

TEST(PasswordGate, RefusesWhatCannotWaitAndServesAllThatCan) {
  loop::Loop loop;
  PasswordPlaces places(1);
  PasswordGate gate(loop, places, 0);
  int refused = 0;
  loop::TaskSet tasks(loop, [&refused](const std::string&, std::exception_ptr fault) {
    try {
      std::rethrow_exception(fault);
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::overload_busy);
      EXPECT_GT(error.retry_after_s, 0);
      ++refused;
    }
  });
  const int room = 1 + PasswordGate::brief_waiting_max;
  int done = 0;
  int most_waiting = 0;
  for (int i = 0; i < room + 5; ++i) tasks.add(hash_one(gate, done, most_waiting, loop, room));
  EXPECT_EQ(refused, 5);
  EXPECT_EQ(gate.waiting(), PasswordGate::brief_waiting_max);
  EXPECT_THROW(gate.refuse_when_full(PasswordQueue::brief), Error);
  EXPECT_NO_THROW(gate.refuse_when_full(PasswordQueue::patient));
  loop.run();
  EXPECT_NO_THROW(gate.refuse_when_full(PasswordQueue::brief));
  EXPECT_EQ(done, room);
  EXPECT_EQ(gate.waiting(), 0);
}

TEST(PasswordGate, GivesThePlaceOfACancelledRequestToTheNext) {
  loop::Loop loop;
  PasswordPlaces places(1, "", 2);
  PasswordGate gate(loop, places, 0);
  {
    Task<std::string> first = gate.hash("a");
    Task<std::string> second = gate.hash("b");
    Task<std::string> third = gate.hash("c");
    first.start(nullptr);
    second.start(nullptr);
    third.start(nullptr);
    EXPECT_EQ(gate.waiting(), 2) << "of one worker one is hashed";
  }
  EXPECT_EQ(gate.waiting(), 0);
  EXPECT_FALSE(testing_support::run_task(loop, gate.hash("d")).empty());
}

TEST(PasswordGate, SharesItsTwoPlacesWithTheOtherWorkers) {
  loop::Loop loop;
  PasswordPlaces places(2, "", 2);
  PasswordGate ours(loop, places, 0);
  PasswordLocks others(places);
  ASSERT_TRUE(others.take());
  ASSERT_TRUE(others.take());
  // Nobody tells of a place that another process leaves: the gate looks again by itself.
  loop::Timer leaver(loop, [&ours, &others] {
    EXPECT_EQ(ours.waiting(), 1);
    others.leave();
  });
  leaver.restart(1);
  EXPECT_FALSE(testing_support::run_task(loop, ours.hash("a")).empty());
}

TEST(PasswordGate, HashesInAProcessBehindAllOthers) {
  loop::Loop loop;
  PasswordPlaces places(1);
  PasswordGate gate(loop, places, 0);
  ASSERT_FALSE(testing_support::run_task(loop, gate.hash("a")).empty());
  pid_t pid = gate.hasher().pid();
  EXPECT_EQ(getsid(pid), pid);
  EXPECT_EQ(getpriority(PRIO_PROCESS, static_cast<id_t>(pid)), 10);
  std::string group = testing_support::read_text_file(fmt::format("/proc/{}/autogroup", pid));
  EXPECT_TRUE(group.empty() || group.ends_with("nice 10\n")) << group;
  EXPECT_EQ(testing_support::read_text_file(fmt::format("/proc/{}/comm", pid)), "hostler-hasher\n");
}

TEST(PasswordGate, TellsOfALostProcessAndHashesNoMore) {
  loop::Loop loop;
  PasswordPlaces places(1);
  PasswordGate gate(loop, places, 0);
  int lost = 0;
  gate.hasher().on_lost = [&lost] { ++lost; };
  kill(gate.hasher().pid(), SIGKILL);
  for (int i = 0; i < 2; ++i) {
    try {
      testing_support::run_task(loop, gate.hash("a"));
      ADD_FAILURE() << "hashed by nobody";
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::overload_busy);
    }
  }
  EXPECT_EQ(lost, 1);
  EXPECT_EQ(gate.waiting(), 0);
}

size_t address_space_bytes(pid_t pid) {
  std::istringstream pages(testing_support::read_text_file(fmt::format("/proc/{}/statm", pid)));
  size_t count = 0;
  pages >> count;
  return count * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(PasswordGate, TellsWithoutMemoryNeitherThatItMatchesNorThatItDoesNot) {
  loop::Loop loop;
  PasswordPlaces places(1);
  PasswordGate gate(loop, places, 0);
  int lost = 0;
  gate.hasher().on_lost = [&lost] { ++lost; };
  std::string stored = testing_support::run_task(loop, gate.hash("correct horse"));
  pid_t pid = gate.hasher().pid();
  {
    testing_support::Scarce little(pid, RLIMIT_AS, address_space_bytes(pid) + (size_t{1} << 20));
    for (const char* password : {"correct horse", "wrong horse"}) {
      try {
        testing_support::run_task(loop, gate.check(password, stored));
        ADD_FAILURE() << "checked without memory";
      } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::overload_busy);
      }
    }
  }
  EXPECT_TRUE(testing_support::run_task(loop, gate.check("correct horse", stored)).matches);
  EXPECT_EQ(lost, 0);
}

TEST(Password, OfOtherParametersIsCheckedAndMadeAnew) {
  // Argon2id of "correct horse" with 8 MiB and one pass.
  std::string old =
      "$argon2id$v=19$m=8192,t=1,p=1$szdDCpLkyLKU4BahOwQfOA$KBbN0TcYgMF2GYCo5+"
      "kwzGu2TfX5cXS7jKyLeslibvY";
  EXPECT_TRUE(account::check_password("correct horse", old)->matches);
  EXPECT_TRUE(account::check_password("correct horse", old)->needs_rehash);
  EXPECT_FALSE(account::check_password("wrong horse", old)->matches);
  std::string todays = account::hash_password("correct horse").value();
  EXPECT_TRUE(account::check_password("correct horse", todays)->matches);
  EXPECT_FALSE(account::check_password("correct horse", todays)->needs_rehash);
  for (size_t bytes = 0; bytes < todays.size(); ++bytes) {
    EXPECT_FALSE(account::check_password("correct horse", todays.substr(0, bytes))->matches)
        << bytes;
  }
  EXPECT_FALSE(account::check_password("correct horse", todays + "A")->matches);
}

TEST(PasswordPlaces, LeaveHalfOfTheCoresToRequestsWithoutAHash) {
  EXPECT_EQ(PasswordPlaces::running_on(0), 1);
  EXPECT_EQ(PasswordPlaces::running_on(1), 1);
  EXPECT_EQ(PasswordPlaces::running_on(2), 1);
  EXPECT_EQ(PasswordPlaces::running_on(4), 2);
  EXPECT_EQ(PasswordPlaces::running_on(64), 2);
  PasswordPlaces places(1, "", 1);
  PasswordLocks locks(places);
  EXPECT_TRUE(locks.take());
  EXPECT_FALSE(locks.take());
}

TEST(PasswordPlaces, AreFreedOfAWorkerThatDied) {
  PasswordPlaces places(2, "", 2);
  PasswordLocks ours(places);
  std::optional<PasswordLocks> theirs(places);
  EXPECT_TRUE(ours.take());
  EXPECT_TRUE(theirs->take());
  places.begin_wait(1);
  EXPECT_FALSE(ours.take());
  theirs.reset();  // as the kernel closes what a dead process had open
  places.clear(1);
  EXPECT_EQ(places.waiting_in_pool(), 0);
  EXPECT_TRUE(ours.take());
  PasswordLocks next(places);
  EXPECT_FALSE(next.take()) << "both are ours";
}

TEST(PasswordPlaces, AreTwoForAllPoolsOfAHost) {
  std::string folder = (std::filesystem::temp_directory_path() / "places-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  PasswordPlaces one_pool(1, folder, 2), other_pool(1, folder, 2);
  EXPECT_FALSE(one_pool.is_alone());
  PasswordLocks one(one_pool), other(other_pool);
  EXPECT_TRUE(one.take());
  EXPECT_TRUE(other.take());
  EXPECT_FALSE(one.take());
  EXPECT_FALSE(other.take());
  other.leave();
  EXPECT_TRUE(one.take());
  EXPECT_FALSE(other.take());
  std::filesystem::remove_all(folder);
  PasswordPlaces without(1, folder);
  EXPECT_TRUE(without.is_alone()) << "and works all the same";
  EXPECT_TRUE(PasswordLocks(without).take());
}

}  // namespace
}  // namespace hostler
