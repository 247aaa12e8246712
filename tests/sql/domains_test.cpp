// Tests what columns refuse that are written with every message and run, by their domains and by
// the one CHECK of usage_records.
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "lib/error.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

class Domains : public testing::Test {
 protected:
  bool is_refused(const std::string& text) {
    try {
      owner_.run_text(text);
      return false;
    } catch (const Error& error) {
      return error.cause.find("violates check constraint") != std::string::npos;
    }
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  postgres::DbSession owner_ = database_.as_superuser();
};

TEST_F(Domains, LetNoCountOfAnAccountFallBelowZero) {
  for (const char* column : {"held", "active_runs", "queued_runs", "waiting_runs"}) {
    std::string change = fmt::format("UPDATE credit_accounts SET {0} = {{}} WHERE org_id = '{1}'",
                                     column, fixture_.org_id);
    EXPECT_FALSE(is_refused(fmt::format(fmt::runtime(change), 0))) << column;
    EXPECT_TRUE(is_refused(fmt::format(fmt::runtime(change), -1))) << column;
    EXPECT_TRUE(is_refused(fmt::format(fmt::runtime(change), fmt::format("{} - 1", column))))
        << column;
  }
}

TEST_F(Domains, KnowTheRolesOfMessages) {
  std::string thread_id = fixture_.new_thread();
  auto insert = [&](const char* role) {
    return is_refused(
        fmt::format("INSERT INTO messages (org_id, thread_id, role, content) VALUES ('{}', '{}', "
                    "'{}', 'x')",
                    fixture_.org_id, thread_id, role));
  };
  for (const char* role : {"user", "assistant", "tool"}) EXPECT_FALSE(insert(role)) << role;
  for (const char* role : {"system", "", "User"}) EXPECT_TRUE(insert(role)) << role;
}

TEST_F(Domains, BoundTheNamesThatClientsGiveThreads) {
  std::string thread_id = fixture_.new_thread();
  auto name = [&](const std::string& client_id) {
    return is_refused(
        fmt::format("UPDATE threads SET client_id = {} WHERE id = '{}'", client_id, thread_id));
  };
  EXPECT_FALSE(name("NULL"));
  EXPECT_FALSE(name("repeat('x', 128)"));
  EXPECT_TRUE(name("''"));
  EXPECT_TRUE(name("repeat('x', 129)"));
}

TEST_F(Domains, AndUsageIsNeverNegative) {
  std::string run_id = fixture_.new_run(fixture_.new_thread());
  owner_.run_text(
      fmt::format("INSERT INTO usage_records (org_id, run_id, turn, user_id, model, input_tokens, "
                  "output_tokens, cache_read_tokens, cache_write_tokens, cost_nano_usd, measured) "
                  "VALUES ('{}', '{}', 1, '{}', 'm', 0, 0, 0, 0, 0, true)",
                  fixture_.org_id, run_id, fixture_.owner_id));
  for (const char* column : {"input_tokens", "output_tokens", "cache_read_tokens",
                             "cache_write_tokens", "cost_nano_usd", "credits"}) {
    EXPECT_TRUE(is_refused(fmt::format("UPDATE usage_records SET {} = -1", column))) << column;
    EXPECT_FALSE(is_refused(fmt::format("UPDATE usage_records SET {} = 1", column))) << column;
  }
}

}  // namespace
}  // namespace hostler::testing_support
