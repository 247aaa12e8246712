// Ids of a thread's messages grow in the order of commits: who reads with after= the newest id that
// they saw misses none. Each test holds the thread before what comes first has its id.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <thread>

#include "queries/threads.h"
#include "tests/support/eventually.h"
#include "tests/support/rows/run_fixture.h"
#include "tests/support/rows/run_statements.h"

namespace hostler {
namespace {

using namespace testing_support;

class MessageOrder : public testing::Test {
 protected:
  postgres::BoundStatement message_of(const std::string& content) const {
    return query::MessageCreate{.thread_id = thread_id_,
                                .content = content,
                                .words = content,
                                .limit_stored_bytes = 0,
                                .parts = std::nullopt};
  }
  // Returns what waits for a lock of somebody else.
  bool one_waits() const {
    return fixture_.column(
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
               "wait_event_type = 'Lock'") == "1";
  }
  // Posts while the session holds the thread; what it does then comes first.
  void post_behind(postgres::DbSession& holding, const postgres::BoundStatement& first) {
    std::thread posting([&] { fixture_.as_owner(message_of("third")); });
    EXPECT_TRUE(eventually(10'000, [&] { return one_waits(); }));
    holding.run(first);
    holding.commit();
    posting.join();
  }
  std::string in_order() const {
    return fixture_.column(fmt::format(
        "SELECT string_agg(content, ' ' ORDER BY id) FROM messages WHERE thread_id = '{}'",
        thread_id_));
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  std::string thread_id_ = fixture_.new_thread("first");
};

TEST_F(MessageOrder, IsThatOfCommitsWhenARunEndsMeanwhile) {
  std::string daemon_id = fixture_.new_daemon("a");
  std::string run_id = fixture_.new_run(thread_id_);
  int64_t epoch = fixture_.claim(daemon_id, run_id);
  postgres::DbSession ending = database_.as_runner();
  ending.begin();
  ending.run(query::ThreadLock{.thread_ids = std::vector{thread_id_}});
  post_behind(ending, commit_of({.daemon_id = daemon_id,
                                 .run_id = run_id,
                                 .epoch = epoch,
                                 .status = "completed",
                                 .answer = "second"}));
  EXPECT_EQ(in_order(), "first second third");
}

TEST_F(MessageOrder, IsThatOfCommitsOfTwoPosters) {
  postgres::DbSession posting = database_.as_api();
  fixture_.begin_as(posting, fixture_.owner_id);
  posting.run(query::ThreadUpdate{.thread_id = thread_id_,
                                  .has_title = true,
                                  .title = "title",
                                  .metadata = std::nullopt,
                                  .words = "other"});
  post_behind(posting, message_of("second"));
  EXPECT_EQ(in_order(), "first second third");
}

}  // namespace
}  // namespace hostler
