// Which webhook messages a daemon takes, and what that costs when many endpoints have some.
#include "tests/support/eventually.h"
#include "tests/support/rows/webhook_fixture.h"

namespace hostler::testing_support {
namespace {

class WebhookClaim : public WebhookFixture {
 protected:
  // Adds so many endpoints with a message each: due, or for tomorrow.
  void add_endpoints(int count, const std::string& message) {
    database_.as_superuser().run_text(
        fmt::format("SET session_replication_role = replica; "
                    "WITH made AS (INSERT INTO webhook_endpoints (org_id, url, events, secret_id) "
                    "SELECT uuidv7(), 'https://example.org', '{{run.completed}}', uuidv7() "
                    "FROM generate_series(1, {}) RETURNING org_id, id) "
                    "INSERT INTO outbox (org_id, kind, endpoint_id, event_type, body, {}",
                    count, message));
  }
  static constexpr const char* due =
      "trace_id) SELECT org_id, 'webhook', id, 'run.completed', '{}', '' FROM made";
  static constexpr const char* tomorrow =
      "is_put_off, next_attempt_at) SELECT org_id, 'webhook', id, 'run.completed', '{}', true, "
      "clock_timestamp() + interval '1 day' FROM made";
  static constexpr const char* delivered =
      "status, next_attempt_at) SELECT org_id, 'webhook', id, 'run.completed', '{}', 'delivered', "
      "NULL FROM made";
  size_t count_of(const std::string& endpoints) { return (endpoints.size() + 1) / 37; }
};

TEST_F(WebhookClaim, CostsTheSameHoweverManyEndpointsWaitForTomorrow) {
  add_endpoints(50'000, tomorrow);
  database_.as_superuser().run_text("ANALYZE outbox");
  std::string endpoint_id = new_endpoint();
  add_messages(endpoint_id, 1);
  // A walk over all of them takes more than a second.
  auto is_quick = [&] {
    int64_t begin_ms = monotonic_ms();
    EXPECT_EQ(claimed(), endpoint_id);
    return monotonic_ms() - begin_ms < 200;
  };
  EXPECT_TRUE(eventually(10'000, is_quick, 1));
}

// A session keeps the plan that it made while there was nothing, until Postgres looks at the table
// again: that may take a minute.
TEST_F(WebhookClaim, GoesAlongIndexesThoughItWasPlannedWhileThereWasNothing) {
  postgres::DbSession superuser = database_.as_superuser();
  superuser.run_text("ALTER TABLE outbox SET (autovacuum_enabled = false)");
  superuser.run_text("VACUUM ANALYZE outbox");
  postgres::DbSession runner = database_.as_runner();
  runner.run_text("SET plan_cache_mode = force_generic_plan");
  runner.begin();
  EXPECT_TRUE(claim_in(runner, 100, 1000, no_endpoint).empty());
  runner.rollback();
  add_endpoints(3000, delivered);
  add_messages(new_endpoint(), 1);
  runner.begin();
  EXPECT_EQ(claim_in(runner, 100, 1000, no_endpoint).size(), 1);
  postgres::Result read =
      runner.run_text("SELECT pg_stat_get_xact_tuples_returned('outbox'::regclass) AS rows");
  EXPECT_LE(read.front().integer("rows"), 100);
  runner.rollback();
}

TEST_F(WebhookClaim, TakesWhatWasPutOffWhenItsTimeHasCome) {
  std::string endpoint_id = new_endpoint();
  add_messages(endpoint_id, 2);
  postgres::DbSession superuser = database_.as_superuser();
  superuser.run_text(
      "UPDATE outbox SET is_put_off = true, next_attempt_at = clock_timestamp() + interval '1 "
      "hour'");
  EXPECT_EQ(claimed(), "");
  superuser.run_text("UPDATE outbox SET next_attempt_at = clock_timestamp()");
  EXPECT_EQ(claimed(), endpoint_id + " " + endpoint_id);
}

TEST_F(WebhookClaim, LooksAtSomeEndpointsAndGoesOnBehindThem) {
  add_endpoints(25, due);
  std::string first = claimed(100, 10);
  EXPECT_EQ(count_of(first), 10u);
  std::string second = claimed(100, 10, first.substr(first.size() - 36));
  EXPECT_EQ(count_of(second), 10u);
  std::string third = claimed(100, 10, second.substr(second.size() - 36));
  EXPECT_EQ(count_of(third), 5u);
  EXPECT_EQ(first + " " + second + " " + third, claimed());
}

}  // namespace
}  // namespace hostler::testing_support
