// Tests the metrics of the whole installation.
#include <gtest/gtest.h>

#include "queries/metrics.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

// An hour-old mail must not hide behind webhooks that wait for their hour, nor the other way round.
TEST(MetricsFacts, TellForEachKindHowLongItsOldestMessageIsDue) {
  TestDatabase database;
  RunFixture fixture(database);
  postgres::DbSession session = database.as_runner();
  auto lag_s = [&](const char* column) {
    return session.run(query::MetricsFacts{}).front().integer(column) / 1'000'000;
  };
  EXPECT_EQ(lag_s("mail_lag_us"), 0);
  fixture.column(
      "INSERT INTO outbox (kind, template, recipient, locale, fields, status, next_attempt_at) "
      "VALUES ('mail', 'verify_email', 'a@example.org', 'en', '{}', 'pending', clock_timestamp() "
      "- interval '1 hour') RETURNING 1");
  EXPECT_GE(lag_s("mail_lag_us"), 3600);
  EXPECT_LE(lag_s("mail_lag_us"), 3700);
  EXPECT_EQ(lag_s("webhook_lag_us"), 0);
  fixture.column(
      "UPDATE outbox SET next_attempt_at = clock_timestamp() + interval '1 hour' RETURNING 1");
  EXPECT_EQ(lag_s("mail_lag_us"), 0) << "it is not due";
}

}  // namespace
}  // namespace hostler::testing_support
