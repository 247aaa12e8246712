// Webhooks with the real daemon and a real receiver with TLS: signed as receivers verify it, tried
// again, bounded in time and size, switched off.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <charconv>

#include "lib/time_text.h"
#include "tests/support/clients/contract_check.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/webhook_harness.h"

namespace hostler::testing_support {
namespace {

constexpr const char* base = webhooks_path;

ApiStack& stack() { return webhook_stack(); }

TEST(Webhook, CarriesTheRunsEndUnderASignatureThatOthersVerify) {
  TestUser user = register_user(stack());
  std::string path = "/ok/" + user.login;
  Endpoint endpoint = add_endpoint(user, path);
  RunStory story = run_story(user.client, "hello");
  ASSERT_EQ(story.status, "completed");
  Json delivery = wait_for_delivery(user, endpoint.id, "delivered");
  EXPECT_EQ(delivery.text_or("status"), "delivered") << delivery.dump();
  EXPECT_EQ(delivery.integer_or("last_status_code", 0), 200);
  EXPECT_EQ(delivery.integer_or("attempts", 0), 1);
  std::vector<Json> received = received_at(path);
  ASSERT_EQ(received.size(), 1u);
  const Json& record = received.front();
  EXPECT_EQ(field(record, "webhook-id"), delivery.text_or("id"));
  EXPECT_EQ(field(record, "content-type"), "application/json");
  EXPECT_EQ(field(record, "webhook-signature"), signature_by_openssl(endpoint.secret, record));
  int64_t sent_s = 0;
  std::string timestamp = field(record, "webhook-timestamp");
  std::from_chars(timestamp.data(), timestamp.data() + timestamp.size(), sent_s);
  EXPECT_LT(std::abs(sent_s - unix_now_ms() / 1000), 60);
  Json body = parse_json_or_nothing(record.text_or("body")).value();
  EXPECT_EQ(body.text_or("type"), "run.completed");
  Json form = parse_json_or_nothing(R"({"$ref":"#/components/schemas/RunMessage"})").value();
  EXPECT_EQ(fmt::format("{}", fmt::join(schema_faults(form, body), "\n")), "");
  EXPECT_TRUE(parse_rfc3339(body.text_or("timestamp")));
  EXPECT_EQ(body.find("data")->text_or("run_id"), story.run_id);
  EXPECT_EQ(body.find("data")->integer_or("last_seq", 0),
            static_cast<int64_t>(story.events.size()));
  std::string trace_id = user.client.get("/v1/runs/" + story.run_id).member("trace_id");
  EXPECT_EQ(field(record, "traceparent").substr(0, 36), "00-" + trace_id + "-");
}

TEST(Webhook, IsDeliveredWithWhateverSuccessTheReceiverSays) {
  TestUser user = register_user(stack());
  for (int status : {201, 299}) {
    Endpoint endpoint = add_endpoint(user, fmt::format("/status/{}/{}", status, user.login));
    user.client.post(endpoint.at(":test"));
    Json delivery = wait_for_delivery(user, endpoint.id, "delivered");
    EXPECT_EQ(delivery.integer_or("last_status_code", 0), status) << delivery.dump();
    EXPECT_EQ(delivery.integer_or("attempts", 0), 1);
  }
}

TEST(Webhook, IsSignedWithEachSecretForADayAfterItsRotation) {
  TestUser user = register_user(stack());
  std::string path = "/ok/" + user.login;
  Endpoint endpoint = add_endpoint(user, path);
  std::string at = fmt::format("{}/{}", base, endpoint.id);
  auto rotate = [&] { return user.client.post(at + "/rotate-secret").member("signing_secret"); };
  std::string second = rotate();
  std::string third = rotate();
  user.client.post(at + ":test");
  wait_for_delivery(user, endpoint.id, "delivered");
  std::vector<Json> received = received_at(path);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(field(received[0], "webhook-signature"),
            signature_by_openssl(third, received[0]) + " " +
                signature_by_openssl(second, received[0]) + " " +
                signature_by_openssl(endpoint.secret, received[0]));
  // The first one's day is over.
  stack().sql().run_text(
      fmt::format("UPDATE webhook_old_secrets SET until = clock_timestamp() WHERE until = (SELECT "
                  "min(until) FROM webhook_old_secrets WHERE endpoint_id = '{}')",
                  endpoint.id));
  std::string delivery_id(delivery_of(user, endpoint.id).text_or("id"));
  EXPECT_EQ(user.client.post(at + "/deliveries/" + delivery_id + ":redeliver").status, 200);
  wait_for_delivery(user, endpoint.id, "delivered", 2);
  received = received_at(path);
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(field(received[1], "webhook-id"), field(received[0], "webhook-id"));
  EXPECT_EQ(received[1].text_or("body"), received[0].text_or("body"));
  EXPECT_EQ(
      field(received[1], "webhook-signature"),
      signature_by_openssl(third, received[1]) + " " + signature_by_openssl(second, received[1]));
}

TEST(Webhook, IsTriedAgainByTheScheduleUnderItsOwnId) {
  TestUser user = register_user(stack());
  std::string path = "/flaky/3/" + user.login;
  Endpoint endpoint = add_endpoint(user, path);
  user.client.post(fmt::format("{}/{}:test", base, endpoint.id));
  constexpr int64_t schedule_s[] = {5, 300, 1800};
  for (int64_t attempt = 1; attempt <= 3; ++attempt) {
    Json delivery = wait_for_delivery(user, endpoint.id, "pending", attempt);
    ASSERT_EQ(delivery.integer_or("attempts", 0), attempt);
    EXPECT_EQ(delivery.integer_or("last_status_code", 0), 503);
    EXPECT_EQ(delivery.text_or("last_error"), "answered 503");
    int64_t wait_ms = parse_rfc3339(delivery.text_or("next_attempt_at")).value() - unix_now_ms();
    int64_t planned_ms = schedule_s[attempt - 1] * 1000;
    EXPECT_LE(wait_ms, planned_ms * 12 / 10);
    EXPECT_GE(wait_ms, planned_ms * 8 / 10 - 3000) << "less what passed since";
    make_due(endpoint.id);
  }
  Json delivery = wait_for_delivery(user, endpoint.id, "delivered");
  EXPECT_EQ(delivery.integer_or("attempts", 0), 4);
  EXPECT_TRUE(delivery.find("last_error")->is_null());
  std::vector<Json> received = received_at(path);
  ASSERT_EQ(received.size(), 4u);
  for (const Json& record : received) {
    EXPECT_EQ(field(record, "webhook-id"), delivery.text_or("id"));
    EXPECT_EQ(field(record, "webhook-signature"), signature_by_openssl(endpoint.secret, record));
  }
}

TEST(Webhook, WaitsAsLongAsTheReceiverAsks) {
  TestUser user = register_user(stack());
  Endpoint endpoint = add_endpoint(user, "/later/900/" + user.login);
  user.client.post(fmt::format("{}/{}:test", base, endpoint.id));
  Json delivery = wait_for_delivery(user, endpoint.id, "pending", 1);
  int64_t wait_ms = parse_rfc3339(delivery.text_or("next_attempt_at")).value() - unix_now_ms();
  EXPECT_GT(wait_ms, 890'000);
  EXPECT_LE(wait_ms, 900'000);
}

TEST(Webhook, IsGivenUpAfterTheLastTry) {
  TestUser user = register_user(stack());
  Endpoint endpoint = add_endpoint(user, "/status/500/" + user.login);
  user.client.post(fmt::format("{}/{}:test", base, endpoint.id));
  for (int64_t attempt = 1; attempt <= 9; ++attempt) {
    wait_for_delivery(user, endpoint.id, "pending", attempt);
    make_due(endpoint.id);
  }
  Json delivery = wait_for_delivery(user, endpoint.id, "failed");
  EXPECT_EQ(delivery.integer_or("attempts", 0), 10);
  EXPECT_TRUE(delivery.find("next_attempt_at")->is_null());
  // After five days of only failures the endpoint is switched off.
  stack().sql().run_text(
      "UPDATE webhook_endpoints SET failing_since = clock_timestamp() - "
      "interval '121 hours' WHERE id = '" +
      endpoint.id + "'");
  user.client.post(fmt::format("{}/{}:test", base, endpoint.id));
  wait_for_delivery(user, endpoint.id, "cancelled", 1);
  EXPECT_EQ(user.client.get(fmt::format("{}/{}", base, endpoint.id)).member("enabled"), "false");
  EXPECT_EQ(sql_value(stack(),
                      "SELECT after_state ->> 'reason' FROM audit_logs WHERE action = "
                      "'webhooks.disabled' AND target_id = '" +
                          endpoint.id + "'"),
            "five days of failures");
}

TEST(Webhook, SwitchesAnEndpointOffThatIsGone) {
  TestUser user = register_user(stack());
  Endpoint endpoint = add_endpoint(user, "/status/410/" + user.login);
  user.client.post(fmt::format("{}/{}:test", base, endpoint.id));
  Json delivery = wait_for_delivery(user, endpoint.id, "failed");
  EXPECT_EQ(delivery.integer_or("last_status_code", 0), 410);
  EXPECT_EQ(user.client.get(fmt::format("{}/{}", base, endpoint.id)).member("enabled"), "false");
  EXPECT_EQ(sql_value(stack(),
                      "SELECT org_id::text FROM audit_logs WHERE action = "
                      "'webhooks.disabled' AND target_id = '" +
                          endpoint.id + "'"),
            user.org_id);
}

TEST(Webhook, CostsAHostileReceiverOnlyItsOwnSlot) {
  TestUser user = register_user(stack());
  struct Case {
    std::string path;
    std::string error;
  };
  const Case cases[] = {
      {"/hang", "there was no answer in time"},
      {"/trickle", "there was no answer in time"},
      {"/flood", "answered 500"},
      {"/redirect", "answered 302; redirects are not followed"},
      {"/reset", "the connection broke before the answer"},
      {"/headers", "the answer's header fields are too large"},
  };
  std::vector<Endpoint> endpoints;
  int64_t began_ms = monotonic_ms();
  for (const Case& one : cases) {
    endpoints.push_back(add_endpoint(user, one.path));
    user.client.post(fmt::format("{}/{}:test", base, endpoints.back().id));
  }
  for (size_t i = 0; i < endpoints.size(); ++i) {
    Json delivery = wait_for_delivery(user, endpoints[i].id, "pending", 1);
    EXPECT_EQ(delivery.text_or("last_error"), cases[i].error) << cases[i].path;
  }
  EXPECT_LT(monotonic_ms() - began_ms, 12'000) << "webhook.timeout_ms is 2 s here";
  EXPECT_TRUE(received_at("/redirected").empty());
  for (const Endpoint& endpoint : endpoints) {
    user.client.del(fmt::format("{}/{}", base, endpoint.id));
  }
}

TEST(Webhook, OfOneTenantWaitsForNoHangingReceiverOfAnother) {
  TestUser slow = register_user(stack());
  TestUser quick = register_user(stack());
  std::vector<Endpoint> hanging;
  for (int i = 0; i < 6; ++i) hanging.push_back(add_endpoint(slow, fmt::format("/hang/{}", i)));
  for (int i = 0; i < 60; ++i) {
    slow.client.post(fmt::format("{}/{}:test", base, hanging[static_cast<size_t>(i) % 6].id));
  }
  Endpoint endpoint = add_endpoint(quick, "/ok/" + quick.login);
  int64_t began_ms = monotonic_ms();
  quick.client.post(fmt::format("{}/{}:test", base, endpoint.id));
  Json delivery = wait_for_delivery(quick, endpoint.id, "delivered");
  EXPECT_EQ(delivery.text_or("status"), "delivered");
  EXPECT_LT(monotonic_ms() - began_ms, 2000) << "the others hang for 2 s a try, 60 of them";
  std::string of_slow = "owner_id IS NOT NULL AND org_id = '" + slow.org_id + "'";
  EXPECT_LE(sql_number(stack(), "SELECT count(*) FROM outbox WHERE " + of_slow), 16);
  EXPECT_LE(sql_number(stack(),
                       "SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM outbox "
                       "WHERE " +
                           of_slow + " GROUP BY endpoint_id) AS busy"),
            4);
  for (const Endpoint& gone : hanging) slow.client.del(fmt::format("{}/{}", base, gone.id));
}

}  // namespace
}  // namespace hostler::testing_support
