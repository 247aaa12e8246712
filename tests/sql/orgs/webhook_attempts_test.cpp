// Tests what an attempt to send a webhook message leads to: when the next one is, and when its
// endpoint is switched off.
#include <optional>
#include <string>

#include "queries/outbox.h"
#include "queries/webhooks.h"
#include "tests/support/rows/webhook_fixture.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t epoch = 7;

class WebhookAttempts : public WebhookFixture {
 protected:
  WebhookAttempts() { add_messages(endpoint_id_, 1); }

  // A daemon begins an attempt.
  void begin() {
    fixture_.column(
        fmt::format("UPDATE outbox SET owner_id = '{}', epoch = {}, lease_until = "
                    "clock_timestamp() + interval '1 hour', status = 'pending', next_attempt_at = "
                    "clock_timestamp()",
                    sender_id_, epoch));
  }
  bool failed(int64_t of_epoch = epoch, std::optional<int64_t> retry_after_ms = std::nullopt,
              bool is_gone = false) {
    postgres::DbSession runner = database_.as_runner();
    return runner
        .run(query::OutboxFailed{.daemon_id = sender_id_,
                                 .message_id = fixture_.column("SELECT id FROM outbox"),
                                 .epoch = of_epoch,
                                 .status_code = 500,
                                 .error = "answered 500",
                                 .retry_after_ms = retry_after_ms,
                                 .is_final = false,
                                 .is_gone = is_gone,
                                 .fault = std::nullopt,
                                 .mail_retry_seconds = 172800})
        .front()
        .boolean("locked");
  }
  bool delivered(int64_t of_epoch = epoch) {
    postgres::DbSession runner = database_.as_runner();
    return runner
        .run(query::OutboxDelivered{.daemon_id = sender_id_,
                                    .message_id = fixture_.column("SELECT id FROM outbox"),
                                    .epoch = of_epoch,
                                    .status_code = 200})
        .front()
        .boolean("locked");
  }
  // Pretends that only failures have happened since then.
  void fail_since(const std::string& age) {
    fixture_.column("UPDATE webhook_endpoints SET failing_since = now() - interval '" + age + "'");
  }
  std::string endpoint() {
    return fixture_.column(
        "SELECT concat_ws(' ', CASE WHEN enabled THEN 'on' ELSE 'off' END, (failing_since > now() "
        "- interval '1 minute')::text) FROM webhook_endpoints");
  }
  int64_t wait_s() {
    postgres::DbSession superuser = database_.as_superuser();
    return superuser
        .run_text("SELECT extract(epoch FROM next_attempt_at - now())::bigint AS s FROM outbox")
        .front()
        .integer("s");
  }

  std::string endpoint_id_ = new_endpoint();
  std::string sender_id_ = fixture_.new_daemon("sender");
};

TEST_F(WebhookAttempts, FollowTheSchedule) {
  EXPECT_EQ(fixture_.column("SELECT string_agg(coalesce(outbox_delay_seconds('webhook', n)::text, "
                            "'none'), ' ' ORDER BY n) FROM generate_series(1, 10) AS n"),
            "5 300 1800 7200 18000 36000 50400 72000 86400 none");
}

TEST_F(WebhookAttempts, WaitAsLongAsTheReceiverAsksButNotLess) {
  fixture_.column("UPDATE outbox SET attempts = 1");  // the next failure is the second: 5 min
  begin();
  ASSERT_TRUE(failed(epoch, 1'000));
  EXPECT_GE(wait_s(), 230);
  EXPECT_LE(wait_s(), 360);
  begin();
  ASSERT_TRUE(failed(epoch, 86'400'000));
  EXPECT_GT(wait_s(), 86'300);
}

TEST_F(WebhookAttempts, SwitchAnEndpointOffThatOnlyFailedForFiveDays) {
  begin();
  ASSERT_TRUE(failed());
  EXPECT_EQ(endpoint(), "on true") << "it begins with the first failure";
  fail_since("119 hours");
  begin();
  ASSERT_TRUE(failed());
  EXPECT_EQ(endpoint(), "on false") << "not yet, and a failure begins nothing anew";
  fail_since("121 hours");
  begin();
  ASSERT_TRUE(failed());
  EXPECT_EQ(endpoint(), "off");
}

TEST_F(WebhookAttempts, BeginTheFiveDaysAnewBehindASuccessOrAtAnotherAddress) {
  fail_since("121 hours");
  begin();
  ASSERT_TRUE(delivered());
  EXPECT_EQ(endpoint(), "on");
  fail_since("121 hours");
  fixture_.as_owner(query::WebhookUpdate{.endpoint_id = endpoint_id_,
                                         .changes = R"({"url":"https://example.net"})"});
  EXPECT_EQ(endpoint(), "on");
  begin();
  ASSERT_TRUE(failed());
  EXPECT_EQ(endpoint(), "on true");
}

TEST_F(WebhookAttempts, OfAMessageThatWasLostCountNothing) {
  fail_since("119 hours");
  begin();
  const char* row =
      "SELECT concat_ws(' ', status, attempts, owner_id, last_status_code) FROM outbox";
  std::string before = fixture_.column(row);
  EXPECT_FALSE(delivered(epoch - 1));
  EXPECT_FALSE(failed(epoch - 1));
  EXPECT_FALSE(failed(epoch - 1, std::nullopt, true));
  EXPECT_EQ(fixture_.column(row), before);
  EXPECT_EQ(endpoint(), "on false");
  ASSERT_TRUE(failed(epoch, std::nullopt, true));
  EXPECT_EQ(endpoint(), "off") << "whose it is may say that the endpoint is gone";
}

}  // namespace
}  // namespace hostler::testing_support
