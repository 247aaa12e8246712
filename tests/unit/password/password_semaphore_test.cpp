// Few password hashes at once, few that wait: fcgi/password/password_semaphore.h.
#include "fcgi/password/password_semaphore.h"

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

Task<void> hash_one(PasswordSemaphore& semaphore, int& done, int& max_waiting, loop::Loop& loop,
                    int last) {
  max_waiting = std::max(max_waiting, semaphore.waiting());
  std::string hashed = co_await semaphore.hash("a password", PasswordQueue::brief);
  if (++done == last) loop.stop();
}

TEST(PasswordSemaphore, HashesAndChecks) {
  loop::Loop loop;
  PasswordPermits permits(1);
  PasswordSemaphore semaphore(loop, permits, 0);
  std::string stored = testing_support::run_task(loop, semaphore.hash("correct horse"));
  EXPECT_TRUE(testing_support::run_task(loop, semaphore.check("correct horse", stored)).matches);
  EXPECT_FALSE(testing_support::run_task(loop, semaphore.check("wrong horse", stored)).matches);
}

TEST(PasswordSemaphore, RefusesWhatCannotWaitAndServesAllThatCan) {
  loop::Loop loop;
  PasswordPermits permits(1);
  PasswordSemaphore semaphore(loop, permits, 0);
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
  const int room = 1 + PasswordSemaphore::brief_waiting_max;
  int done = 0;
  int max_waiting = 0;
  for (int i = 0; i < room + 5; ++i) tasks.add(hash_one(semaphore, done, max_waiting, loop, room));
  EXPECT_EQ(refused, 5);
  EXPECT_EQ(semaphore.waiting(), PasswordSemaphore::brief_waiting_max);
  EXPECT_THROW(semaphore.refuse_when_full(PasswordQueue::brief), Error);
  EXPECT_NO_THROW(semaphore.refuse_when_full(PasswordQueue::patient));
  loop.run();
  EXPECT_NO_THROW(semaphore.refuse_when_full(PasswordQueue::brief));
  EXPECT_EQ(done, room);
  EXPECT_EQ(semaphore.waiting(), 0);
}

TEST(PasswordSemaphore, GivesThePermitOfACancelledRequestToTheNext) {
  loop::Loop loop;
  PasswordPermits permits(1, "", 2);
  PasswordSemaphore semaphore(loop, permits, 0);
  {
    Task<std::string> first = semaphore.hash("a");
    Task<std::string> second = semaphore.hash("b");
    Task<std::string> third = semaphore.hash("c");
    first.start(nullptr);
    second.start(nullptr);
    third.start(nullptr);
    EXPECT_EQ(semaphore.waiting(), 2) << "of one worker one is hashed";
  }
  EXPECT_EQ(semaphore.waiting(), 0);
  EXPECT_FALSE(testing_support::run_task(loop, semaphore.hash("d")).empty());
}

TEST(PasswordSemaphore, SharesItsTwoPermitsWithTheOtherWorkers) {
  loop::Loop loop;
  PasswordPermits permits(2, "", 2);
  PasswordSemaphore ours(loop, permits, 0);
  PasswordLocks others(permits);
  ASSERT_TRUE(others.take());
  ASSERT_TRUE(others.take());
  // Nobody reports a permit that another process returned: the semaphore looks again by itself.
  loop::Timer leaver(loop, [&ours, &others] {
    EXPECT_EQ(ours.waiting(), 1);
    others.leave();
  });
  leaver.restart(1);
  EXPECT_FALSE(testing_support::run_task(loop, ours.hash("a")).empty());
}

constexpr size_t waiters_in_order = 8;

Task<void> wait_in(loop::Loop& loop, PasswordSemaphore& semaphore, PasswordQueue queue, char name,
                   std::string& order) {
  co_await semaphore.hash("a password", queue);
  order += name;
  if (order.size() == waiters_in_order) loop.stop();
}

TEST(PasswordSemaphore, LetsWhoIsKnownGoFirstAndTheOthersTakeTurns) {
  loop::Loop loop;
  PasswordPermits permits(2);
  PasswordSemaphore semaphore(loop, permits, 0);
  std::string order;
  loop::TaskSet tasks(loop, [](const std::string& what, std::exception_ptr) { FAIL() << what; });
  auto add = [&](PasswordQueue queue, char name) {
    tasks.add(wait_in(loop, semaphore, queue, name, order));
  };
  // The first is hashed at once, and of who is known the first beside it; what comes behind them
  // has its place by its queue.
  for (char name : {'b', 'b', 'b'}) add(PasswordQueue::brief, name);
  for (char name : {'p', 'p', 'p'}) add(PasswordQueue::patient, name);
  for (char name : {'k', 'k'}) add(PasswordQueue::known, name);
  loop.run();
  // Two processes hash beside each other: a stranger's hash may end before one of who is known that
  // began before it.
  EXPECT_LE(order.rfind('k'), 4U) << order;
  std::erase(order, 'k');
  EXPECT_EQ(order, "bpbpbp");
}

TEST(PasswordSemaphore, LetsWhoIsKnownWaitBehindNoStranger) {
  loop::Loop loop;
  PasswordPermits permits(2);
  PasswordSemaphore semaphore(loop, permits, 0);
  PasswordLocks others(permits);
  while (others.take()) continue;  // strangers are hashed by other workers, and here one waits
  Task<std::string> stranger = semaphore.hash("a");
  stranger.start(nullptr);
  EXPECT_FALSE(testing_support::run_task(loop, semaphore.hash("b", PasswordQueue::known)).empty());
  EXPECT_EQ(semaphore.waiting(), 1);
  ASSERT_TRUE(others.take_known());
  others.leave();
  EXPECT_FALSE(testing_support::run_task(loop, semaphore.hash("c", PasswordQueue::known)).empty())
      << "a second one takes what is free";
}

TEST(PasswordSemaphore, HasRoomForWhoIsKnownWhileNobodyElseHasAny) {
  loop::Loop loop;
  PasswordPermits permits(2);
  PasswordSemaphore semaphore(loop, permits, 0);
  for (int i = 0; i < PasswordSemaphore::patient_waiting_max; ++i)
    permits.begin_wait(1, PasswordQueue::patient);
  EXPECT_NO_THROW(semaphore.refuse_when_full(PasswordQueue::brief));
  for (int i = 0; i < PasswordSemaphore::brief_waiting_max; ++i)
    permits.begin_wait(1, PasswordQueue::brief);
  EXPECT_THROW(semaphore.refuse_when_full(PasswordQueue::brief), Error);
  EXPECT_THROW(semaphore.refuse_when_full(PasswordQueue::patient), Error);
  EXPECT_FALSE(testing_support::run_task(loop, semaphore.hash("a", PasswordQueue::known)).empty());
  // Nobody waits for a process that died.
  permits.clear(1);
  EXPECT_FALSE(testing_support::run_task(loop, semaphore.hash("a", PasswordQueue::brief)).empty());
}

TEST(PasswordSemaphore, HashesInAProcessBehindAllOthers) {
  loop::Loop loop;
  PasswordPermits permits(1);
  PasswordSemaphore semaphore(loop, permits, 0);
  ASSERT_FALSE(testing_support::run_task(loop, semaphore.hash("a")).empty());
  pid_t pid = semaphore.hasher().pid();
  EXPECT_EQ(getsid(pid), pid);
  EXPECT_EQ(getpriority(PRIO_PROCESS, static_cast<id_t>(pid)), 10);
  std::string group = testing_support::read_text_file(fmt::format("/proc/{}/autogroup", pid));
  EXPECT_TRUE(group.empty() || group.ends_with("nice 10\n")) << group;
  EXPECT_EQ(testing_support::read_text_file(fmt::format("/proc/{}/comm", pid)), "hostler-hasher\n");
  id_t known_pid = static_cast<id_t>(semaphore.known_hasher().pid());
  ASSERT_FALSE(testing_support::run_task(loop, semaphore.hash("a", PasswordQueue::known)).empty());
  EXPECT_EQ(getpriority(PRIO_PROCESS, known_pid), 0);
}

TEST(PasswordSemaphore, TellsOfALostProcessAndHashesNoMore) {
  loop::Loop loop;
  PasswordPermits permits(1);
  PasswordSemaphore semaphore(loop, permits, 0);
  int lost = 0;
  loop::Signal exited;
  semaphore.hasher().on_exit = [&] {
    ++lost;
    exited.notify();
  };
  kill(semaphore.hasher().pid(), SIGKILL);
  for (int i = 0; i < 2; ++i) {
    try {
      testing_support::run_task(loop, semaphore.hash("a"));
      ADD_FAILURE() << "hashed by nobody";
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::overload_busy);
    }
  }
  // A broken pipe may say it before the signal of the process's end does.
  if (lost == 0) testing_support::run_task(loop, exited.wait_for(loop, 10'000));
  EXPECT_EQ(lost, 1);
  EXPECT_EQ(semaphore.waiting(), 0);
}

size_t address_space_bytes(pid_t pid) {
  std::istringstream pages(testing_support::read_text_file(fmt::format("/proc/{}/statm", pid)));
  size_t count = 0;
  pages >> count;
  return count * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(PasswordSemaphore, TellsWithoutMemoryNeitherThatItMatchesNorThatItDoesNot) {
  loop::Loop loop;
  PasswordPermits permits(1);
  PasswordSemaphore semaphore(loop, permits, 0);
  int lost = 0;
  semaphore.hasher().on_exit = [&lost] { ++lost; };
  std::string stored = testing_support::run_task(loop, semaphore.hash("correct horse"));
  pid_t pid = semaphore.hasher().pid();
  {
    testing_support::Scarce little(pid, RLIMIT_AS, address_space_bytes(pid) + (size_t{1} << 20));
    for (const char* password : {"correct horse", "wrong horse"}) {
      try {
        testing_support::run_task(loop, semaphore.check(password, stored));
        ADD_FAILURE() << "checked without memory";
      } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::overload_busy);
      }
    }
  }
  EXPECT_TRUE(testing_support::run_task(loop, semaphore.check("correct horse", stored)).matches);
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

TEST(Password, IsOneHoweverItsLettersAreTypedAndOpensHashesFromBefore) {
  const std::string composed = "caf\u00E9 noir";
  const std::string decomposed = "cafe\u0301 noir";
  std::string todays = account::hash_password(decomposed).value();
  for (const std::string& typed : {composed, decomposed}) {
    EXPECT_TRUE(account::check_password(typed, todays)->matches);
    EXPECT_FALSE(account::check_password(typed, todays)->needs_rehash);
  }
  // Argon2id of the bytes of the decomposed one as they are.
  const std::string before =
      "$argon2id$v=19$m=8192,t=1,p=1$DeyUNm08oefti0CZQpbITA$EQ8SNyz"
      "pJda3b7wB/nQoVkq2/VShAvqk8w8ddnnzgqQ";
  EXPECT_TRUE(account::check_password(decomposed, before)->matches);
  EXPECT_TRUE(account::check_password(decomposed, before)->needs_rehash);
  EXPECT_FALSE(account::check_password(composed, before)->matches);
}

// It costs what a hash of today costs.
TEST(Password, OfNobodyIsNoneInTodaysForm) {
  const std::string& nobodys = account::nobodys_password_hash();
  std::string todays = account::hash_password("correct horse").value();
  size_t head_bytes = todays.rfind('$', todays.rfind('$') - 1) + 1;
  EXPECT_EQ(nobodys.substr(0, head_bytes), todays.substr(0, head_bytes));
  EXPECT_EQ(nobodys.size(), todays.size());
  for (const char* password : {"", "correct horse"}) {
    EXPECT_FALSE(account::check_password(password, nobodys)->matches);
  }
}

TEST(PasswordPermits, LeaveHalfOfTheCoresToRequestsWithoutAHash) {
  EXPECT_EQ(PasswordPermits::running_on(0), 1);
  EXPECT_EQ(PasswordPermits::running_on(1), 1);
  EXPECT_EQ(PasswordPermits::running_on(2), 1);
  EXPECT_EQ(PasswordPermits::running_on(4), 2);
  EXPECT_EQ(PasswordPermits::running_on(64), 2);
  PasswordPermits permits(1, "", 1);
  PasswordLocks locks(permits);
  EXPECT_TRUE(locks.take());
  EXPECT_FALSE(locks.take());
}

TEST(PasswordPermits, AreFreedOfAWorkerThatDied) {
  PasswordPermits permits(2, "", 2);
  PasswordLocks ours(permits);
  std::optional<PasswordLocks> theirs(permits);
  EXPECT_TRUE(ours.take());
  EXPECT_TRUE(theirs->take());
  permits.begin_wait(1, PasswordQueue::brief);
  EXPECT_FALSE(ours.take());
  theirs.reset();  // as the kernel closes what a dead process had open
  permits.clear(1);
  EXPECT_EQ(permits.waiting(1), 0);
  EXPECT_TRUE(ours.take());
  PasswordLocks next(permits);
  EXPECT_FALSE(next.take()) << "both are ours";
}

TEST(PasswordPermits, AreTwoForAllPoolsOfAHost) {
  std::string folder = (std::filesystem::temp_directory_path() / "permits-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  PasswordPermits one_pool(1, folder, 2), other_pool(1, folder, 2);
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
  PasswordPermits without(1, folder);
  EXPECT_TRUE(without.is_alone()) << "and works all the same";
  EXPECT_TRUE(PasswordLocks(without).take());
}

}  // namespace
}  // namespace hostler
