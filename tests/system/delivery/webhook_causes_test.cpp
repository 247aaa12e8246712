// Tests what a webhook is sent for: each event that committed, once, however its run got there and
// however long the receiver was away; and the published verifier takes what arrives for genuine.
#include <gtest/gtest.h>

#include <map>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/run_program.h"
#include "tests/support/rigs/webhook_harness.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return webhook_stack(); }

// How many messages of the endpoint there are, by status and least number of attempts.
int64_t messages(const Endpoint& endpoint, std::string_view status = "%", int attempts_min = 0) {
  return sql_number(stack(), fmt::format("SELECT count(*) FROM outbox WHERE endpoint_id = '{}' AND "
                                         "status LIKE '{}' AND attempts >= {} AND owner_id IS NULL",
                                         endpoint.id, status, attempts_min));
}

int64_t wait_for_messages(const Endpoint& endpoint, int64_t count, std::string_view status,
                          int attempts_min = 0) {
  int64_t now_are = 0;
  EXPECT_TRUE(eventually(20'000, [&] {
    now_are = messages(endpoint, status, attempts_min);
    return now_are >= count;
  }));
  return now_are;
}

Json body_of(const Json& record) {
  return parse_json_or_nothing(record.text_or("body")).value_or(Json());
}

TEST(Webhook, TellsOnceThatARunWaitsForInput) {
  TestUser user = register_user(stack());
  std::string path = "/ok/" + user.login;
  Endpoint endpoint = add_endpoint(user, path, R"("run.waiting_for_input")");
  std::string run_id = start_output(user.client, "[ask What colour?] [say ok]");
  ASSERT_EQ(wait_for_status(user.client, run_id, "waiting_for_input"), "waiting_for_input");
  ASSERT_EQ(wait_for_messages(endpoint, 1, "delivered"), 1);
  ASSERT_EQ(received_at(path).size(), 1u);
  Json record = received_at(path).front();
  EXPECT_EQ(field(record, "webhook-signature"), signature_by_openssl(endpoint.secret, record));
  Json body = body_of(record);
  EXPECT_EQ(body.text_or("type"), "run.waiting_for_input");
  const Json& data = *body.find("data");
  EXPECT_EQ(data.text_or("run_id"), run_id);
  EXPECT_EQ(data.text_or("org_id"), user.org_id);
  EXPECT_EQ(data.text_or("status"), "waiting_for_input");
  EXPECT_TRUE(data.find("error")->is_null());
  EXPECT_EQ(data.integer_or("last_seq", 0),
            static_cast<int64_t>(story_of(user.client, run_id).events.size()));
  // The daemon that comes after this one finds the same run waiting, and tells nobody again.
  stack().kill_runner();
  stack().start_runner();
  Answer answered = user.client.post("/v1/runs/" + run_id + "/input", R"({"content":"blue"})");
  EXPECT_EQ(answered.status, 200) << answered.body;
  EXPECT_EQ(wait_for_status(user.client, run_id, "completed"), "completed");
  EXPECT_EQ(messages(endpoint), 1);
  EXPECT_EQ(received_at(path).size(), 1u);
}

// The transaction of a run's end is broken from inside, twice; the run is taken up again.
TEST(Webhook, TellsNothingOfATransactionThatWasRolledBack) {
  TestUser user = register_user(stack());
  std::string path = "/ok/" + user.login;
  Endpoint endpoint = add_endpoint(user, path);
  stack().sql().run_text(
      "CREATE SEQUENCE refusals; CREATE FUNCTION refuse_end() RETURNS trigger LANGUAGE plpgsql "
      "SECURITY DEFINER AS $$ BEGIN IF nextval('refusals') <= 2 THEN RAISE 'refused'; END IF; "
      "RETURN NEW; END $$; "
      "CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON outbox DEFERRABLE INITIALLY DEFERRED "
      "FOR EACH ROW WHEN (NEW.event_type = 'run.completed') EXECUTE FUNCTION refuse_end()");
  std::string run_id = start_output(user.client, "[say hello]");
  EXPECT_EQ(wait_for_status(user.client, run_id, "completed"), "completed");
  EXPECT_GE(sql_number(stack(), "SELECT last_value FROM refusals"), 3) << "it was rolled back";
  stack().sql().run_text(
      "DROP TRIGGER refuse ON outbox; DROP FUNCTION refuse_end; "
      "DROP SEQUENCE refusals");
  EXPECT_EQ(wait_for_messages(endpoint, 1, "delivered"), 1);
  EXPECT_EQ(messages(endpoint), 1) << "those of the broken transactions are gone";
  std::vector<Json> received = received_at(path);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(body_of(received.front()).find("data")->integer_or("last_seq", 0),
            static_cast<int64_t>(story_of(user.client, run_id).events.size()));
}

TEST(Webhook, ReachesAReceiverThatWasDownForHours) {
  auto first = start_receiver();
  const int port = first->port();
  const std::string url = first->url("/ok");
  first.reset();
  TestUser user = register_user(stack());
  Endpoint endpoint = add_endpoint_at(user, url);
  constexpr int tests = 5;
  for (int i = 0; i < tests; ++i) user.client.post(endpoint.at(":test"));
  ASSERT_EQ(run_story(user.client, "hello").status, "completed");
  // Six tries by the schedule are 7 h 35 min.
  for (int attempt = 1; attempt <= 6; ++attempt) {
    ASSERT_EQ(wait_for_messages(endpoint, tests + 1, "pending", attempt), tests + 1) << attempt;
    EXPECT_EQ(delivery_of(user, endpoint.id).text_or("last_error"),
              "there was no connection: unknown name, refused or unreachable");
    if (attempt == 3) stack().kill_runner(), stack().start_runner();
    if (attempt < 6) make_due(endpoint.id);
  }
  OutsidePeer again("webhook_receiver.py", {std::to_string(port)});
  make_due(endpoint.id);
  EXPECT_EQ(wait_for_messages(endpoint, tests + 1, "delivered"), tests + 1);
  std::map<std::string, int> received;
  for (const Json& record : again.records()) ++received[field(record, "webhook-id")];
  EXPECT_EQ(received.size(), static_cast<size_t>(tests + 1));
  for (const auto& [id, times] : received) EXPECT_EQ(times, 1) << id;
  EXPECT_EQ(user.client.get(endpoint.at()).member("enabled"), "true");
}

// An address that was good when it was written may be bad when it is used.
TEST(Webhook, IsNotSentWhereItMayNotGoWhateverItsRowSays) {
  TestUser user = register_user(stack());
  struct Case {
    std::string url;
    const char* error;
  };
  const Case cases[] = {
      {"https://169.254.169.254/latest", "the name leads to an address that may not be called"},
      {"https://10.1.2.3/", "the name leads to an address that may not be called"},
      {fmt::format("http://127.0.0.1:{}/ok", receiver().port()), "the URL cannot be called"},
  };
  for (const Case& one : cases) {
    Endpoint endpoint = add_endpoint(user, "/ok/" + user.login);
    stack().sql().run_text(fmt::format("UPDATE webhook_endpoints SET url = '{}' WHERE id = '{}'",
                                       one.url, endpoint.id));
    user.client.post(endpoint.at(":test"));
    Json delivery = wait_for_delivery(user, endpoint.id, "pending", 1);
    EXPECT_EQ(delivery.text_or("last_error"), one.error) << one.url;
  }
  EXPECT_TRUE(received_at("/ok/" + user.login).empty());
}

TEST(Webhook, IsGenuineToThePublishedVerifier) {
  const std::string folder = verifier_folder();
  if (folder.empty()) {
    GTEST_SKIP() << "NOT CHECKED: node, npm or the package standardwebhooks cannot be had here";
  }
  TestUser user = register_user(stack());
  std::string path = "/ok/" + user.login;
  Endpoint endpoint = add_endpoint(user, path);
  user.client.post(endpoint.at(":test"));
  ASSERT_EQ(wait_for_messages(endpoint, 1, "delivered"), 1);
  std::string second = user.client.post(endpoint.at("/rotate-secret")).member("signing_secret");
  ASSERT_EQ(run_story(user.client, "Grüße, 世界").status, "completed");
  ASSERT_EQ(wait_for_messages(endpoint, 2, "delivered"), 2);
  std::vector<Json> received = received_at(path);
  ASSERT_EQ(received.size(), 2u);
  std::string test(received[0].text_or("body"));
  std::string run(received[1].text_or("body"));
  EXPECT_EQ(verified(folder, endpoint.secret, received[0], test), "verified webhook.test\n");
  EXPECT_EQ(verified(folder, endpoint.secret, received[1], run), "verified run.completed\n");
  EXPECT_EQ(verified(folder, second, received[1], run), "verified run.completed\n");
  const std::string refused = "refused: No matching signature found\n";
  EXPECT_EQ(verified(folder, second, received[0], test), refused) << "of before the rotation";
  EXPECT_EQ(verified(folder, endpoint.secret, received[1], run + " "), refused);
  EXPECT_EQ(verified(folder, endpoint.secret, received[1], test), refused);
}

}  // namespace
}  // namespace hostler::testing_support
