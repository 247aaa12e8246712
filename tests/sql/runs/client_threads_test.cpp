// Threads by the names that clients of foreign protocols give them: one per name and creator, also
// for concurrent first uses, and an own thread by its id.
#include <gtest/gtest.h>

#include <future>

#include <fmt/format.h>

#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

class ClientThreads : public ::testing::Test {
 protected:
  static std::string named_in(postgres::DbSession& session, const std::string& name) {
    return std::string(
        session.run_text(fmt::format("SELECT client_thread('{}', 'eve')", name)).text());
  }
  std::string named(const std::string& user_id, const std::string& name) const {
    postgres::DbSession session = database_.as_api();
    fixture_.begin_as(session, user_id);
    std::string thread = named_in(session, name);
    session.commit();
    return thread;
  }
  std::string named(const std::string& name) const { return named(fixture_.owner_id, name); }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(ClientThreads, AreMadeAtTheirFirstUseAndFoundFromThenOn) {
  std::string thread = named("chat 1");
  EXPECT_EQ(named("chat 1"), thread);
  EXPECT_NE(named("chat 2"), thread);
  EXPECT_EQ(named(thread), thread) << "an own thread is named by its id";
  EXPECT_EQ(fixture_.column(fmt::format("SELECT end_user FROM threads WHERE id = '{}'", thread)),
            "eve");
}

TEST_F(ClientThreads, AreTheirCreatorsAlone) {
  std::string thread = named("chat 1");
  std::string of_other = named(fixture_.other_id, "chat 1");
  EXPECT_NE(of_other, thread);
  EXPECT_NE(named(fixture_.other_id, thread), thread) << "the id of another's is a name";
}

TEST_F(ClientThreads, AreMadeAnewWhenTheyWereDeleted) {
  std::string thread = named("chat 1");
  fixture_.column(
      fmt::format("UPDATE threads SET deleted_at = now() WHERE id = '{}' RETURNING 1", thread));
  std::string next = named("chat 1");
  EXPECT_NE(next, thread);
  EXPECT_NE(named(thread), thread) << "what is deleted is named by nothing";
}

TEST_F(ClientThreads, AreOneWhenTwoFirstUsesMeet) {
  postgres::DbSession first = database_.as_api();
  fixture_.begin_as(first, fixture_.owner_id);
  std::string thread = named_in(first, "chat 1");
  std::future<std::string> second =
      std::async(std::launch::async, [this] { return named("chat 1"); });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout)
      << "it waits for the first";
  first.commit();
  EXPECT_EQ(second.get(), thread);
}

}  // namespace
}  // namespace hostler::testing_support
