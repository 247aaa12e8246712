// Tests what a claim answers of the thread's messages, and when it leaves them to be asked for.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include <fmt/format.h>

#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using testing_support::RunFixture;
using testing_support::TestDatabase;

constexpr int messages_max = 64;
constexpr int message_bytes_max = 8192;  // RunFixture::claim_of

class ClaimHistory : public testing::Test {
 protected:
  // Claims a run of a thread with so many messages of this content after its first one, "hello";
  // its last one of the newest run is hidden.
  std::optional<std::string> history_of(int further, const std::string& content) {
    std::string thread_id = fixture_.new_thread();
    database_.as_superuser().run_text(
        fmt::format("INSERT INTO messages (org_id, thread_id, created_by_user_id, role, content) "
                    "SELECT '{0}', '{1}', '{2}', 'user', '{3}' FROM generate_series(1, {4}); "
                    "INSERT INTO messages (org_id, thread_id, role, content, hidden_by_run_id) "
                    "VALUES ('{0}', '{1}', 'assistant', 'hidden', uuidv7())",
                    fixture_.org_id, thread_id, fixture_.owner_id, content, further));
    fixture_.new_run(thread_id);
    postgres::DbSession session = database_.as_runner();
    postgres::Result claimed = session.run(RunFixture::claim_of(daemon_id_, 4));
    EXPECT_EQ(claimed.size(), 1);
    if (claimed.front().is_null("history")) return std::nullopt;
    return std::string(claimed.front().text("history"));
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  std::string daemon_id_ = fixture_.new_daemon("a");
};

TEST_F(ClaimHistory, HoldsTheVisibleMessagesFromTheNewestOn) {
  EXPECT_EQ(history_of(2, "äh"), "u3:ähu3:ähu5:hello");
}

TEST_F(ClaimHistory, HasAsManyMessagesAsItMay) {
  std::optional<std::string> history = history_of(messages_max - 1, "x");
  ASSERT_TRUE(history);
  EXPECT_EQ(history->size(), 4 * (messages_max - 1) + std::string("u5:hello").size());
  EXPECT_FALSE(history_of(messages_max, "x"));
}

TEST_F(ClaimHistory, HasMessagesAsLongAsTheyMayBe) {
  EXPECT_TRUE(history_of(1, std::string(message_bytes_max, 'x')));
  EXPECT_FALSE(history_of(1, std::string(message_bytes_max + 1, 'x')));
  EXPECT_FALSE(history_of(33, std::string(message_bytes_max, 'x'))) << "together too long";
}

}  // namespace
}  // namespace hostler
