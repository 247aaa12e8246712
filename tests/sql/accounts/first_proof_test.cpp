// The first proof of an address by code, beside a call that was let in before it: from SQL.
#include <gtest/gtest.h>

#include <thread>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t waits_ms_max = 10'000;

TEST(FirstProof, SwitchesOffAlsoWhatIsBeingSetUpMeanwhile) {
  TestDatabase database;
  RunFixture fixture(database);
  fixture.column(
      fmt::format("INSERT INTO login_codes (email_key, user_id, hmac, expires_at) SELECT "
                  "email_key, id, '\\x01', now() + interval '1 hour' FROM users WHERE id = "
                  "'{}' RETURNING 1",
                  fixture.owner_id));
  postgres::DbSession writer = database.as_superuser();
  writer.begin();
  // Locks the user like every call that writes, from its first statement on.
  writer.run_text(fmt::format("SELECT pg_advisory_xact_lock_shared(uuid_hash_extended('{}', 0))",
                              fixture.owner_id));
  std::string answer;
  std::thread owner([&] {
    postgres::DbSession session = database.as_superuser();
    session.begin();
    session.run_text("SELECT set_request_context(NULL, NULL, '{\"client_ip\": \"192.0.2.7\"}')");
    answer = session
                 .run_text(fmt::format("SELECT outcome FROM login_code_verify('{}@example.org', "
                                       "'\\x01', sha256('a'), sha256('b'), sha256('f'), 5, 20, "
                                       "900, 900)",
                                       fixture.owner_id))
                 .text();
    session.commit();
  });
  EXPECT_TRUE(eventually(waits_ms_max, [&] {
    return fixture.column(
               "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND "
               "database = (SELECT oid FROM pg_database WHERE datname = current_database())") ==
           "1";
  }));
  writer.run_text(
      fmt::format("INSERT INTO tool_providers (org_id, group_name, provider_name, is_active) "
                  "VALUES ('{}', 'web_search', 'web_search.beta', true)",
                  fixture.org_id));
  writer.commit();
  owner.join();
  EXPECT_EQ(answer, "ok");
  EXPECT_EQ(fixture.column("SELECT string_agg(is_active::text, ' ') FROM tool_providers"), "false");
}

}  // namespace
}  // namespace hostler::testing_support
