// GET /v1/webhook-endpoints, POST /v1/webhook-endpoints, GET /v1/webhook-endpoints/{endpoint_id},
// PATCH /v1/webhook-endpoints/{endpoint_id}, DELETE /v1/webhook-endpoints/{endpoint_id},
// POST /v1/webhook-endpoints/{endpoint_id}/rotate-secret,
// GET /v1/webhook-endpoints/{endpoint_id}/deliveries,
// POST /v1/webhook-endpoints/{endpoint_id}/deliveries/{delivery_id}:redeliver,
// POST /v1/webhook-endpoints/{endpoint_id}:test. Without a daemon: what is sent, and how, is told
// by tests/system/delivery/webhooks_test.cpp.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "tests/support/rows/accounts.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr const char* base = "/v1/webhook-endpoints";
constexpr const char* nobody = "0190a0a0-0000-7000-8000-000000000000";

ApiStack& stack() { return ApiStack::shared(); }

std::string wanted(std::string_view events = R"("run.completed","run.failed")") {
  return fmt::format(R"({{"url":"https://93.184.216.34/hook","events":[{}]}})", events);
}

std::string made_by(const TestUser& user, std::string_view events = R"("run.completed")") {
  Answer made = user.client.post(base, wanted(events));
  EXPECT_EQ(made.status, 201) << made.body;
  return made.member("id");
}

std::string at(const std::string& id, std::string_view rest = "") {
  return fmt::format("{}/{}{}", base, id, rest);
}

std::string audited(const TestUser& user) {
  return sql_value(stack(), fmt::format("SELECT coalesce(string_agg(action, ' ' ORDER BY id), '') "
                                        "FROM audit_logs WHERE org_id = '{}' AND action LIKE "
                                        "'webhooks.%'",
                                        user.org_id));
}

TEST(Webhooks, ShowTheSigningSecretOnce) {
  TestUser user = register_user(stack());
  Answer made = user.client.post(base, wanted(R"("run.failed","run.completed","run.failed")"));
  ASSERT_EQ(made.status, 201) << made.body;
  std::string secret = made.member("signing_secret");
  ASSERT_TRUE(secret.starts_with("whsec_"));
  EXPECT_EQ(from_base64(secret.substr(6)).value_or("").size(), 32u);
  EXPECT_EQ(made.member("events"), R"(["run.failed","run.completed"])") << "duplicates are merged";
  Answer shown = user.client.get(at(made.member("id")));
  EXPECT_EQ(shown.status, 200);
  EXPECT_EQ(shown.member("org_id"), user.org_id);
  EXPECT_EQ(shown.body.find("whsec"), std::string::npos);
  EXPECT_EQ(user.client.get(base).body.find("whsec"), std::string::npos);
  EXPECT_EQ(sql_number(stack(), "SELECT count(*) FROM secrets WHERE position(convert_to('" +
                                    secret + "', 'UTF8') IN sealed) > 0"),
            0);
  Answer rotated = user.client.post(at(made.member("id"), "/rotate-secret"));
  EXPECT_EQ(rotated.status, 200);
  EXPECT_NE(rotated.member("signing_secret"), secret);
  EXPECT_EQ(audited(user), "webhooks.create webhooks.secret_rotated");
}

TEST(Webhooks, RotateTheirSecretOnceForAnIdempotencyKey) {
  TestUser user = register_user(stack());
  Answer made = user.client.post(base, wanted(R"("run.failed")"));
  ASSERT_EQ(made.status, 201) << made.body;
  Call call{"POST", at(made.member("id"), "/rotate-secret"), "", "", {{"Idempotency-Key", "k"}}};
  Answer first = user.client.send(call);
  ASSERT_EQ(first.status, 200) << first.body;
  Answer second = user.client.send(call);
  EXPECT_EQ(second.status, 200);
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(second.header("idempotency-replayed"), "true");
  EXPECT_EQ(audited(user), "webhooks.create webhooks.secret_rotated");
}

TEST(Webhooks, SignWithTheSecretBeforeForADay) {
  TestUser user = register_user(stack());
  std::string id = made_by(user);
  ASSERT_EQ(user.client.post(at(id, "/rotate-secret")).status, 200);
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT string_agg(round(extract(epoch FROM until - "
                                           "now()) / 3600)::text, ' ') FROM webhook_old_secrets "
                                           "WHERE endpoint_id = '{}'",
                                           id)),
            "24");
}

TEST(Webhooks, TellEveryFaultOfWhatIsWanted) {
  TestUser user = register_user(stack());
  Answer empty = user.client.post(base, "{}");
  EXPECT_TRUE(has_fault(empty, "url", "required"));
  EXPECT_TRUE(has_fault(empty, "events", "required"));
  EXPECT_EQ(fault_count(empty), 2u);
  EXPECT_TRUE(has_fault(user.client.post(base, wanted("")), "events", "too_short"));
  EXPECT_TRUE(has_fault(user.client.post(base, wanted(R"("run.started")")), "events", "unknown"));
  EXPECT_TRUE(has_fault(user.client.post(base, wanted("1")), "events.0", "wrong_type"));
  for (const char* url : {"http://93.184.216.34/", "https://u:p@example.org/", "nonsense", "/x",
                          "https://", "ftp://example.org"}) {
    Answer answer =
        user.client.post(base, fmt::format(R"({{"url":"{}","events":["run.failed"]}})", url));
    EXPECT_TRUE(has_fault(answer, "url", "bad_format")) << url;
  }
  std::string path_of_2049(2049 - 22, 'x');
  Answer too_long = user.client.post(
      base,
      fmt::format(R"({{"url":"https://93.184.216.34/{}","events":["run.failed"]}})", path_of_2049));
  EXPECT_TRUE(has_fault(too_long, "url", "too_long"));
}

TEST(Webhooks, HaveAnAddressThatCanBeAskedForAsItIsWritten) {
  TestUser user = register_user(stack());
  std::string long_label = "https://" + std::string(64, 'a') + ".com/";
  for (const std::string& url : {std::string("https://.com/"), std::string("https://a..b/"),
                                 std::string("https://127.0.0.1./"), std::string("https://a.1/"),
                                 long_label, std::string("https://93.184.216.34/\u00fc"),
                                 std::string("https://93.184.216.34/?\u00fc=1")}) {
    Answer made =
        user.client.post(base, fmt::format(R"({{"url":"{}","events":["run.failed"]}})", url));
    EXPECT_TRUE(has_fault(made, "url", "bad_format")) << url;
  }
}

TEST(Webhooks, AreNotSentIntoInternalNetworks) {
  TestUser user = register_user(stack());
  std::string id = made_by(user);
  for (const char* url :
       {"https://127.0.0.1/", "https://[::1]/", "https://10.1.2.3/", "https://169.254.169.254/",
        "https://localhost/", "https://2130706433/", "https://0x7f.1/", "https://[::ffff:7f00:1]/",
        "https://93.184.216.34:25/", "https://93.184.216.34:6379/", "https://nobody.invalid:22/"}) {
    Answer made =
        user.client.post(base, fmt::format(R"({{"url":"{}","events":["run.failed"]}})", url));
    EXPECT_TRUE(is_problem(made, 422, "webhooks.url_denied")) << url;
    Answer changed = user.client.patch(at(id), fmt::format(R"({{"url":"{}"}})", url));
    EXPECT_TRUE(is_problem(changed, 422, "webhooks.url_denied")) << url;
  }
  EXPECT_EQ(user.client.get(at(id)).member("url"), "https://93.184.216.34/hook");
}

TEST(Webhooks, ChangeByTheMembersThatAreGiven) {
  TestUser user = register_user(stack());
  std::string id = made_by(user);
  Answer off = user.client.patch(at(id), R"({"enabled":false})");
  EXPECT_EQ(off.status, 200);
  EXPECT_EQ(off.member("enabled"), "false");
  EXPECT_EQ(off.member("url"), "https://93.184.216.34/hook");
  Answer moved = user.client.patch(
      at(id), R"({"enabled":true,"url":"https://93.184.216.35/","events":["run.cancelled"]})");
  EXPECT_EQ(moved.member("url"), "https://93.184.216.35/");
  EXPECT_EQ(moved.member("events"), R"(["run.cancelled"])");
  EXPECT_EQ(user.client.patch(at(id), "{}").status, 422);
  EXPECT_EQ(user.client.patch(at(id), R"({"other":1})").status, 422);
  EXPECT_TRUE(has_fault(user.client.patch(at(id), R"({"enabled":"no"})"), "enabled", "wrong_type"));
  EXPECT_TRUE(has_fault(user.client.patch(at(id), R"({"events":[]})"), "events", "too_short"));
  EXPECT_EQ(audited(user), "webhooks.create webhooks.update webhooks.update");
}

TEST(Webhooks, AreListedNewestFirstPageByPage) {
  TestUser user = register_user(stack());
  std::string older = made_by(user);
  std::string newer = made_by(user);
  Answer first = user.client.get(std::string(base) + "?limit=1");
  EXPECT_EQ((*first.json().as_array())[0].text_or("id"), newer);
  Answer second = user.client.get(first.next_path());
  EXPECT_EQ((*second.json().as_array())[0].text_or("id"), older);
  EXPECT_EQ(second.next_path(), "");
  EXPECT_EQ(user.client.get(std::string(base) + "?limit=0").status, 422);
  EXPECT_EQ(user.client.get(at(older, "/deliveries?before=x")).status, 422);
}

// A message is signed with each of them: their number is bounded, and they go when they are over.
TEST(Webhooks, KeepTenOldSecretsUntilTheirDayIsOver) {
  TestUser user = register_user(stack());
  std::string id = made_by(user);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(user.client.post(at(id, "/rotate-secret")).status, 200);
  }
  Answer refused = user.client.post(at(id, "/rotate-secret"));
  EXPECT_TRUE(is_problem(refused, 422, "limits.reached")) << "none ends before its day";
  EXPECT_NE(refused.member("detail").find("10 old secrets"), std::string::npos);
  auto kept = [&] {
    return sql_number(stack(), "SELECT count(*) FROM secrets WHERE org_id = '" + user.org_id + "'");
  };
  EXPECT_EQ(kept(), 11);
  stack().sql().run_text(
      "UPDATE webhook_old_secrets SET until = now() - interval '1 s' WHERE org_id = '" +
      user.org_id + "'; SELECT webhook_secrets_prune(4)");
  EXPECT_EQ(kept(), 7);
  EXPECT_EQ(user.client.post(at(id, "/rotate-secret")).status, 200) << "none of them signs";
  EXPECT_EQ(kept(), 8);
  stack().sql().run_text("SELECT webhook_secrets_prune(1000)");
  EXPECT_EQ(kept(), 2) << "those that sign stay";
}

TEST(Webhooks, AreGoneWithTheirSecretsAndDeliveries) {
  TestUser user = register_user(stack());
  std::string id = made_by(user);
  EXPECT_EQ(user.client.post(at(id, "/rotate-secret")).status, 200);
  EXPECT_EQ(user.client.post(at(id, ":test")).status, 201);
  Answer gone = user.client.del(at(id));
  EXPECT_EQ(gone.status, 200);
  EXPECT_EQ(gone.member("ok"), "true");
  EXPECT_TRUE(is_problem(user.client.del(at(id)), 404, "webhooks.not_found"));
  EXPECT_EQ(sql_number(stack(), "SELECT count(*) FROM outbox WHERE endpoint_id = '" + id + "'"), 0);
  EXPECT_EQ(
      sql_number(stack(), "SELECT count(*) FROM secrets WHERE org_id = '" + user.org_id + "'"), 0);
}

TEST(Webhooks, AreForTheirOrganizationAndWhoeverHasTheRight) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  std::string id = made_by(user);
  std::string delivery = user.client.post(at(id, ":test")).member("id");
  for (const std::string& place : {id, std::string(nobody), std::string("x")}) {
    const Client& client = other.client;
    EXPECT_TRUE(is_problem(client.get(at(place)), 404, "webhooks.not_found"));
    EXPECT_TRUE(is_problem(client.patch(at(place), "{"), 404, "webhooks.not_found"));
    EXPECT_TRUE(is_problem(client.del(at(place)), 404, "webhooks.not_found"));
    EXPECT_TRUE(is_problem(client.post(at(place, "/rotate-secret")), 404, "webhooks.not_found"));
    EXPECT_TRUE(is_problem(client.get(at(place, "/deliveries")), 404, "webhooks.not_found"));
    EXPECT_TRUE(is_problem(client.post(at(place, ":test")), 404, "webhooks.not_found"));
    EXPECT_TRUE(is_problem(client.post(at(place, "/deliveries/" + delivery + ":redeliver")), 404,
                           "webhooks.not_found"));
  }
  EXPECT_TRUE(is_problem(user.client.post(at(id, fmt::format("/deliveries/{}:redeliver", nobody))),
                         404, "webhooks.not_found"));
  // A delivery to one endpoint is unknown at every other, also at one's own.
  for (const TestUser* actor : {&other, &user}) {
    std::string own = made_by(*actor);
    EXPECT_TRUE(is_problem(actor->client.post(at(own, "/deliveries/" + delivery + ":redeliver")),
                           404, "webhooks.not_found"));
    EXPECT_EQ(actor->client.get(at(own, "/deliveries")).body, "[]");
  }
  TestUser member = register_user(stack());
  std::string org_id = make_workspace(stack(), user);
  add_member(stack(), org_id, member, "member");
  EXPECT_TRUE(is_problem(member.client.with_org(org_id).get(base), 403, "auth.forbidden"));
  Client with_key = user.client.with_token(make_api_key(stack(), user, user.org_id));
  EXPECT_TRUE(is_problem(with_key.get(base), 403, "auth.user_token_required"));
  EXPECT_TRUE(is_problem(stack().client().get(base), 401, "auth.missing_token"));
}

TEST(Webhooks, HaveADeliveryForEachEventTheySubscribedTo) {
  TestConversation conversation = make_conversation(stack());
  std::string completed = made_by(conversation.user, R"("run.completed")");
  std::string all = made_by(
      conversation.user, R"("run.completed","run.cancelled","run.failed","run.waiting_for_input")");
  std::string off = made_by(conversation.user, R"("run.cancelled")");
  conversation.user.client.patch(at(off), R"({"enabled":false})");
  TestUser stranger = register_user(stack());
  std::string foreign = made_by(stranger, R"("run.cancelled")");
  std::string run_id = start_run(conversation.user.client, conversation.thread_id);
  EXPECT_EQ(conversation.user.client.post("/v1/runs/" + run_id + ":cancel").status, 200);
  EXPECT_EQ(conversation.user.client.get(at(completed, "/deliveries")).body, "[]");
  EXPECT_EQ(conversation.user.client.get(at(off, "/deliveries")).body, "[]");
  EXPECT_EQ(stranger.client.get(at(foreign, "/deliveries")).body, "[]")
      << "of another organization's run";
  Json list = conversation.user.client.get(at(all, "/deliveries")).json();
  ASSERT_EQ(list.as_array()->size(), 1u);
  const Json& delivery = list.as_array()->front();
  EXPECT_EQ(delivery.text_or("event_type"), "run.cancelled");
  EXPECT_EQ(delivery.text_or("status"), "pending");
  EXPECT_EQ(delivery.integer_or("attempts", -1), 0);
  Json body =
      parse_json_or_nothing(sql_value(stack(), "SELECT body FROM outbox WHERE id = '" +
                                                   std::string(delivery.text_or("id")) + "'"))
          .value();
  EXPECT_EQ(body.text_or("type"), "run.cancelled");
  const Json& data = *body.find("data");
  EXPECT_EQ(data.text_or("run_id"), run_id);
  EXPECT_EQ(data.text_or("org_id"), conversation.user.org_id);
  EXPECT_EQ(data.text_or("thread_id"), conversation.thread_id);
  EXPECT_EQ(data.text_or("status"), "cancelled");
  EXPECT_TRUE(data.find("error")->is_null());
  EXPECT_GT(data.integer_or("last_seq", 0), 0);
  for (const char* part : {"usage", "cost", "model"}) EXPECT_NE(data.find(part), nullptr) << part;
}

TEST(Webhooks, CancelWhatWaitsWhenTheyAreSwitchedOffAndSendItAgainWhenTold) {
  TestUser user = register_user(stack());
  std::string id = made_by(user);
  Answer test = user.client.post(at(id, ":test"));
  ASSERT_EQ(test.status, 201);
  EXPECT_EQ(test.member("event_type"), "webhook.test");
  std::string delivery = test.member("id");
  user.client.patch(at(id), R"({"enabled":false})");
  auto status = [&] {
    return std::string(
        user.client.get(at(id, "/deliveries")).json().as_array()->at(0).text_or("status"));
  };
  EXPECT_EQ(status(), "cancelled");
  Answer again = user.client.post(at(id, "/deliveries/" + delivery + ":redeliver"));
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(again.member("id"), delivery) << "the webhook-id stays";
  EXPECT_EQ(status(), "pending");
  EXPECT_EQ(audited(user), "webhooks.create webhooks.test webhooks.update webhooks.redeliver");
}

}  // namespace
}  // namespace hostler::testing_support
