// Threads are found by their messages, of any author.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/search_words.h"
#include "queries/daemon.h"
#include "queries/runs.h"
#include "queries/threads.h"
#include "tests/support/rows/run_fixture.h"
#include "tests/support/rows/run_statements.h"

namespace hostler {
namespace {

using namespace testing_support;

class ThreadSearch : public testing::Test {
 protected:
  void answer(const std::string& words) {
    std::string run_id = fixture_.new_run(thread_id_);
    database_.as_runner().run(commit_of({.daemon_id = daemon_id_,
                                         .run_id = run_id,
                                         .epoch = fixture_.claim(daemon_id_, run_id),
                                         .status = "completed",
                                         .answer = words}));
  }
  bool is_found(const std::string& typed) {
    return fixture_
               .as_owner(query::ThreadSearch{
                   .query = search_query(typed), .limit = 10, .before = std::nullopt})
               .size() == 1;
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  std::string thread_id_ = fixture_.new_thread("first");
  std::string daemon_id_ = fixture_.new_daemon("a");
};

TEST_F(ThreadSearch, FindsTheWordsOfAnAnswer) {
  EXPECT_FALSE(is_found("nginx"));
  answer("It stands in /etc/nginx/nginx.conf, 東京都.");
  EXPECT_TRUE(is_found("NGINX.con"));
  EXPECT_TRUE(is_found("京都"));
  EXPECT_FALSE(is_found("nginx apache"));
}

// A run that nobody owns is ended by the database, which alone has what was streamed.
TEST_F(ThreadSearch, FindsWhatWasSaidBeforeACancellation) {
  std::string run_id = fixture_.new_run(thread_id_);
  fixture_.column(fmt::format(
      "INSERT INTO run_events (run_id, seq, type, data) VALUES ('{}', 2, 'message.delta', "
      "'{{\"content\":\"Off to /quay\"}}') RETURNING 1",
      run_id));
  fixture_.column(fmt::format("UPDATE runs SET last_seq = 2 WHERE id = '{}' RETURNING 1", run_id));
  fixture_.as_owner(query::RunCancel{.run_id = run_id});
  EXPECT_TRUE(is_found("quay"));
}

TEST_F(ThreadSearch, TakesTheSameWordsOfTheDatabase) {
  for (std::string text : {"", "!?", "/etc/nginx.conf, the QUICK one_two", "Ärger ÜBER",
                           "東京都。大阪 abc東1", "ПРИВЕТ", "ーあ1.5e3 ''\\"}) {
    EXPECT_EQ(
        fixture_.column(fmt::format("SELECT words_vector(search_words($q${}$q$))::text", text)),
        fixture_.column(fmt::format("SELECT words_vector('{}')::text", search_words(text))))
        << text;
  }
}

TEST_F(ThreadSearch, LooksForNothingWhenNothingIsAWord) {
  answer("Words");
  EXPECT_FALSE(is_found("?!"));
}

// A client could only send what is valid; the last line after it is that Postgres takes all that
// search_words() makes.
TEST_F(ThreadSearch, TakesTheLongestWordsAndTheMost) {
  std::string content(5'000, 'x');
  for (int number = 0; number < 60'000; ++number) content += " " + std::to_string(number);
  answer(content);
  EXPECT_TRUE(is_found(std::string(5'000, 'x')));
  EXPECT_TRUE(is_found("9999"));
}

}  // namespace
}  // namespace hostler
