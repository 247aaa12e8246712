// Endpoints that are switched off while many messages wait for them, and messages that are sent
// again.
#include "queries/maintenance.h"
#include "queries/webhooks.h"
#include "tests/support/rows/webhook_fixture.h"

namespace hostler::testing_support {
namespace {

class WebhookOff : public WebhookFixture {
 protected:
  void set_enabled(const std::string& endpoint_id, bool enabled) {
    fixture_.as_owner(query::WebhookUpdate{.endpoint_id = endpoint_id,
                                           .changes = fmt::format(R"({{"enabled":{}}})", enabled)});
  }
  std::string states() {
    return fixture_.column(
        "SELECT string_agg(status || ' ' || n, ' ' ORDER BY status) FROM (SELECT status, count(*) "
        "AS n FROM outbox GROUP BY status) AS counted");
  }
  int pages() {
    postgres::DbSession session = database_.as_runner();
    int count = 0;
    do {
      ++count;
    } while (session.run(query::WebhookCancel{.at_most = 1000})[0].boolean("more"));
    return count;
  }
};

TEST_F(WebhookOff, CancelsFewMessagesAtOnce) {
  std::string endpoint_id = new_endpoint();
  add_messages(endpoint_id, 999);
  set_enabled(endpoint_id, false);
  EXPECT_EQ(states(), "cancelled 999");
  set_enabled(endpoint_id, true);
  add_messages(endpoint_id, 1);
  EXPECT_EQ(claimed(), endpoint_id);
}

TEST_F(WebhookOff, CancelsWhatOneCallCannotPageByPageAndSendsNoneOfIt) {
  std::string endpoint_id = new_endpoint();
  add_messages(endpoint_id, 3'500);
  fixture_.column(
      "UPDATE outbox SET attempts = 3, is_put_off = true, next_attempt_at = clock_timestamp() + "
      "interval '1 hour' WHERE id IN (SELECT id FROM outbox LIMIT 200)");
  std::string owned = fixture_.column(
      "UPDATE outbox SET owner_id = uuidv7(), lease_until = clock_timestamp() + interval '1 hour' "
      "WHERE id = (SELECT id FROM outbox WHERE attempts = 0 LIMIT 1) RETURNING id");
  set_enabled(endpoint_id, false);
  EXPECT_EQ(states(), "pending 3500");
  std::string again = fixture_.column(
      "SELECT id FROM outbox WHERE status = 'pending' AND owner_id IS NULL LIMIT 1");
  fixture_.as_owner(query::WebhookRedeliver{.endpoint_id = endpoint_id, .delivery_id = again});
  set_enabled(endpoint_id, true);
  add_messages(endpoint_id, 1);
  EXPECT_EQ(claimed(), "") << "what was cancelled is not sent";
  EXPECT_EQ(pages(), 4);
  EXPECT_EQ(states(), "cancelled 3498 pending 3");
  EXPECT_EQ(claimed(), endpoint_id + " " + endpoint_id) << "what was asked for since is sent";
  EXPECT_EQ(fixture_.column("SELECT status FROM outbox WHERE id = '" + owned + "'"), "pending")
      << "an attempt under way ends by itself";
  EXPECT_EQ(pages(), 1);
}

// A message under way is not sent twice at once, but it is tried as often as a new one.
TEST_F(WebhookOff, BeginsItsScheduleAnewForWhatIsSentAgainWhileAnAttemptIsUnderWay) {
  std::string endpoint_id = new_endpoint();
  add_messages(endpoint_id, 1);
  std::string message = fixture_.column(
      "UPDATE outbox SET owner_id = uuidv7(), epoch = 7, lease_until = clock_timestamp() + "
      "interval '1 hour', attempts = 9 RETURNING id");
  fixture_.as_owner(query::WebhookRedeliver{.endpoint_id = endpoint_id, .delivery_id = message});
  EXPECT_EQ(claimed(), "");
  EXPECT_EQ(fixture_.column("SELECT outbox_failed(owner_id, id, 7, 500, 'answered 500', NULL, "
                            "false, false) FROM outbox"),
            "t");
  EXPECT_EQ(fixture_.column("SELECT concat_ws(' ', status, attempts, next_attempt_at < "
                            "clock_timestamp() + interval '10 s') FROM outbox"),
            "pending 10 t");
}

// A receiver that moved away answers 410 at the old address.
TEST_F(WebhookOff, IsNotForWhatAnAddressAnswersThatWasLeftMeanwhile) {
  std::string endpoint_id = new_endpoint();
  add_messages(endpoint_id, 1);
  std::string daemon = fixture_.column(
      "UPDATE outbox SET owner_id = uuidv7(), epoch = 7, lease_until = clock_timestamp() + "
      "interval '1 hour' RETURNING owner_id");
  fixture_.as_owner(
      query::WebhookUpdate{.endpoint_id = endpoint_id, .changes = R"({"events":["run.failed"]})"});
  EXPECT_EQ(claimed(), "") << "the attempt goes on";
  fixture_.as_owner(query::WebhookUpdate{.endpoint_id = endpoint_id,
                                         .changes = R"({"url":"https://new.example.org"})"});
  EXPECT_EQ(fixture_.column(fmt::format(
                "SELECT outbox_failed('{}', id, 7, 410, 'answered 410', NULL, false, true) "
                "FROM outbox",
                daemon)),
            "f");
  EXPECT_EQ(fixture_.column("SELECT concat_ws(' ', e.enabled, o.status, o.attempts) FROM outbox o "
                            "JOIN webhook_endpoints e ON e.id = o.endpoint_id"),
            "t pending 0");
  EXPECT_EQ(claimed(), endpoint_id) << "for the new one";
}

TEST_F(WebhookOff, GoesOnWhoeverDiesBetweenTwoPages) {
  std::string endpoint_id = new_endpoint();
  add_messages(endpoint_id, 3'000);
  set_enabled(endpoint_id, false);
  {
    postgres::DbSession dies = database_.as_runner();
    dies.begin();
    dies.run(query::WebhookCancel{.at_most = 1000});
    EXPECT_EQ(pages(), 1) << "one at a time";
  }
  EXPECT_EQ(states(), "pending 3000");
  EXPECT_EQ(pages(), 4);
  EXPECT_EQ(states(), "cancelled 3000");
}

}  // namespace
}  // namespace hostler::testing_support
