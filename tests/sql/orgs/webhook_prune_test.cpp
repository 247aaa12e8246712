// Endpoints that are deleted while many messages wait for them.
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "queries/maintenance.h"
#include "queries/outbox.h"
#include "queries/webhooks.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

class WebhookPrune : public ::testing::Test {
 protected:
  std::string new_endpoint() {
    return fixture_.column(fmt::format(
        "WITH s AS (INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed) "
        "VALUES "
        "(uuidv7(), '{0}', 'webhook', 1, 'x', 'x') RETURNING id) INSERT INTO webhook_endpoints "
        "(org_id, url, events, secret_id) SELECT '{0}', 'https://example.org', "
        "'{{run.completed}}', "
        "id FROM s RETURNING id",
        fixture_.org_id));
  }
  void add_messages(const std::string& endpoint_id, int count) {
    fixture_.column(fmt::format(
        "INSERT INTO outbox (org_id, kind, endpoint_id, event_type, body) SELECT '{}', 'webhook', "
        "'{}', 'run.completed', '{{}}' FROM generate_series(1, {})",
        fixture_.org_id, endpoint_id, count));
  }
  void remove(const std::string& endpoint_id) {
    fixture_.as_owner(query::WebhookDelete{.endpoint_id = endpoint_id});
  }
  std::string left() {
    return fixture_.column(
        "SELECT (SELECT count(*) FROM outbox) || ' ' || (SELECT count(*) FROM webhook_endpoints) "
        "|| "
        "' ' || (SELECT count(*) FROM secrets)");
  }
  int pages() {
    postgres::DbSession session = database_.as_runner();
    int count = 0;
    do {
      ++count;
    } while (session.run(query::WebhookPrune{.at_most = 1000})[0].boolean("more"));
    return count;
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(WebhookPrune, IsNotNeededForFewMessages) {
  std::string endpoint_id = new_endpoint();
  add_messages(endpoint_id, 999);
  remove(endpoint_id);
  EXPECT_EQ(left(), "0 0 0");
}

TEST_F(WebhookPrune, TakesAwayWhatOneCallCannot) {
  std::string endpoint_id = new_endpoint();
  std::string other = new_endpoint();
  add_messages(endpoint_id, 3'500);
  add_messages(other, 2);
  remove(endpoint_id);
  EXPECT_EQ(left(), "2502 2 1") << "its secret is gone at once";
  postgres::Result shown =
      fixture_.as_owner(query::WebhookPage{.limit = 20, .before = std::nullopt});
  ASSERT_EQ(shown.size(), 1);
  EXPECT_EQ(shown[0].text("id"), other);
  EXPECT_THROW(fixture_.as_owner(query::WebhookShow{.endpoint_id = endpoint_id}), Error);
  EXPECT_THROW(remove(endpoint_id), Error);

  std::string daemon_id = fixture_.new_daemon("a");
  postgres::DbSession runner = database_.as_runner();
  runner.begin();
  runner.run(query::OutboxClaimLock{});
  postgres::Result claimed = runner.run(query::OutboxClaimWebhooks{.daemon_id = daemon_id,
                                                                   .limit = 100,
                                                                   .lease_seconds = 60,
                                                                   .endpoint_max = 50,
                                                                   .org_max = 50});
  EXPECT_EQ(claimed.size(), 2) << "nothing is sent to it any more";
  runner.rollback();

  add_messages(endpoint_id, 1);  // of a run that ended at the same moment
  EXPECT_EQ(pages(), 3);
  EXPECT_EQ(left(), "2 1 1");
  EXPECT_EQ(pages(), 1);
  EXPECT_EQ(left(), "2 1 1");
}

TEST_F(WebhookPrune, LeavesNothingOfAnEndpointWhosePagesAreFull) {
  std::string endpoint_id = new_endpoint();
  add_messages(endpoint_id, 2'000);
  remove(endpoint_id);
  EXPECT_EQ(pages(), 2);
  EXPECT_EQ(left(), "0 0 0");
}

}  // namespace
}  // namespace hostler::testing_support
