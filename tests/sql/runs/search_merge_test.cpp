// Maintenance merges words of messages into the search, not the next INSERT.
#include <gtest/gtest.h>

#include <string>

#include "lib/error.h"
#include "queries/maintenance.h"
#include "queries/threads.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using namespace testing_support;

class SearchMerge : public testing::Test {
 protected:
  // Together more words than Postgres leaves in a list of a megabyte.
  void post_long_messages() {
    for (int number = 0; number < 12; ++number) {
      std::string content = fixture_.column(
          "SELECT 'needle ' || string_agg(substr(md5(random()::text), 1, 8), ' ') "
          "FROM generate_series(1, 7000)");
      fixture_.as_owner(query::MessageCreate{.thread_id = thread_id_,
                                             .content = content,
                                             .words = content,
                                             .limit_stored_bytes = 0,
                                             .parts = std::nullopt});
    }
  }
  // Whether so many pages were left in the list, which is empty then.
  std::string left(const std::string& pages) const {
    return fixture_.column("SELECT gin_clean_pending_list('messages_search') " + pages);
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  std::string thread_id_ = fixture_.new_thread("first");
};

TEST_F(SearchMerge, IsLeftByThePostersToMaintenance) {
  post_long_messages();
  EXPECT_EQ(left("> 128"), "t") << "a megabyte";
  post_long_messages();
  database_.as_runner().run(query::SearchMerge{});
  EXPECT_EQ(left("= 0"), "t");
  EXPECT_EQ(fixture_.column("SELECT count(*) FROM messages WHERE search @@ 'needle'"), "24");
}

TEST_F(SearchMerge, IsTheDaemonsAlone) {
  EXPECT_THROW(database_.as_api().run_text("SELECT search_merge()"), Error);
}

}  // namespace
}  // namespace hostler
