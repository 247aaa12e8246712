// Tests who may follow a run, the answers to others, and that a stream ends with its right.
#include <gtest/gtest.h>

#include <iterator>
#include <list>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "tests/support/rigs/stream_harness.h"

namespace hostler {
namespace {

using testing_support::scgi_text;
using testing_support::StreamAsk;
using testing_support::StreamClient;
using testing_support::StreamHarness;

class StreamAccess : public ::testing::Test {
 protected:
  StreamAccess() : run_id(harness.new_run()) { harness.write(run_id, 1, 2); }

  StreamClient answer(const StreamAsk& asked) {
    StreamClient client = harness.ask(asked);
    EXPECT_TRUE(client.read_to_end());
    return client;
  }
  StreamClient answer(const std::string& run, const std::string& token) {
    StreamAsk asked;
    asked.run_id = run;
    asked.token = token;
    return answer(asked);
  }
  StreamClient open_stream(const std::string& token) {
    StreamAsk asked;
    asked.run_id = run_id;
    asked.token = token;
    StreamClient client = harness.ask(asked);
    EXPECT_TRUE(client.read_until("id: 2\n")) << client.received();
    return client;
  }
  std::string new_key(const std::string& user_id) {
    Token made = make_token("hst_");
    harness.sql(
        fmt::format("INSERT INTO api_keys (org_id, user_id, name, key_prefix, hash) VALUES "
                    "('{}', '{}', 'k', 'hst_', '\\x{}')",
                    harness.fixture.org_id, user_id, to_hex(made.hash)));
    return made.text;
  }
  // The stream is open, then the change is made, then it ends without a further event.
  void expect_end_after(const std::string& token, const std::string& change) {
    StreamClient client = open_stream(token);
    harness.sql(change);
    EXPECT_TRUE(client.read_to_end()) << change;
    EXPECT_EQ(client.seqs(), (std::vector<int64_t>{1, 2}));
  }

  StreamHarness harness;
  std::string run_id;
};

TEST_F(StreamAccess, NeedsAToken) {
  StreamClient client = answer(run_id, "");
  EXPECT_EQ(client.status(), 401);
  EXPECT_EQ(client.field("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(client.field("X-Trace-Id"), "00000000000000000000000000000abc");
  EXPECT_EQ(client.field("X-Content-Type-Options"), "nosniff");
  EXPECT_NE(client.body().find(R"("trace_id":"00000000000000000000000000000abc")"),
            std::string::npos);
  EXPECT_NE(client.body().find("auth.missing_token"), std::string::npos);
  StreamClient unknown = answer(run_id, make_token("hat_").text);
  EXPECT_EQ(unknown.status(), 401);
  EXPECT_NE(unknown.body().find("auth.invalid_token"), std::string::npos);
  StreamClient key = answer(run_id, make_token("hst_").text);
  EXPECT_NE(key.body().find("auth.invalid_api_key"), std::string::npos);
}

TEST_F(StreamAccess, TellsOfTheTokenBeforeItTellsOfTheRun) {
  EXPECT_EQ(answer("no-uuid", make_token("hat_").text).status(), 401);
  EXPECT_EQ(answer("no-uuid", harness.token).status(), 404);
}

TEST_F(StreamAccess, HidesRunsThatAreNotThere) {
  std::string other_fixture = "019ac3a2-7e10-7b42-9d0a-5f1c2a3b4c5d";
  StreamClient client = answer(other_fixture, harness.token);
  EXPECT_EQ(client.status(), 404);
  EXPECT_NE(client.body().find("runs.not_found"), std::string::npos);
}

TEST_F(StreamAccess, IsRefusedToOtherMembersAndAudited) {
  StreamClient client = answer(run_id, harness.new_token(harness.fixture.other_id));
  EXPECT_EQ(client.status(), 403);
  EXPECT_NE(client.body().find("policy.denied"), std::string::npos);
  // Written aside, and before the relay has stopped.
  harness.stop();
  EXPECT_EQ(
      harness.fixture.column("SELECT string_agg(concat_ws(' ', actor_user_id, target_id, count), "
                             "', ') FROM audit_logs WHERE result = 'denied'"),
      fmt::format("{} GET /v1/runs/{}/events 1", harness.fixture.other_id, run_id));
}

// Nobody counts these requests: they must not fill the audit log.
TEST_F(StreamAccess, IsRefusedToAKeyWithoutTheScopeInAFewShortRows) {
  std::string key = new_key(harness.fixture.owner_id);
  harness.sql("UPDATE api_keys SET scopes = '{data.threads.read}'");
  constexpr int refusals = 300;
  for (int i = 0; i < refusals; ++i) {
    EXPECT_EQ(answer(std::string(7000, 'a'), key).status(), 403);
  }
  harness.stop();
  EXPECT_EQ(
      harness.fixture.column("SELECT sum(count) || ' ' || string_agg(DISTINCT concat_ws(' ', "
                             "target_id, actor_api_key_id = (SELECT id FROM api_keys)), ', ') "
                             "FROM audit_logs WHERE result = 'denied'"),
      fmt::format("{} GET /v1/runs/{{run_id}}/events t", refusals));
  EXPECT_EQ(harness.fixture.column("SELECT count(*) <= 2 FROM audit_logs"), "t");
}

TEST_F(StreamAccess, IsGivenToWhoMayReadAllRunsUnlessTheThreadIsPrivate) {
  harness.sql("UPDATE org_members SET role = 'admin' WHERE user_id = '" + harness.fixture.other_id +
              "'");
  std::string token = harness.new_token(harness.fixture.other_id);
  open_stream(token);
  harness.sql("UPDATE threads SET is_private = true");
  EXPECT_EQ(answer(run_id, token).status(), 403);
}

TEST_F(StreamAccess, IsGivenToPlatformAdminsAndKeys) {
  harness.sql("UPDATE users SET platform_admin = true WHERE id = '" + harness.fixture.other_id +
              "'");
  EXPECT_EQ(open_stream(harness.new_token(harness.fixture.other_id)).status(), 200);
  EXPECT_EQ(open_stream(new_key(harness.fixture.owner_id)).status(), 200);
}

TEST_F(StreamAccess, HonoursTheOrganizationThatIsNamed) {
  StreamAsk asked;
  asked.run_id = run_id;
  asked.token = harness.token;
  asked.more = {{"HTTP_X_ORG_ID", "nonsense"}};
  StreamClient client = answer(asked);
  EXPECT_EQ(client.status(), 404);
  EXPECT_NE(client.body().find("orgs.not_found"), std::string::npos);
  asked.more = {{"HTTP_X_ORG_ID", "019ac3a2-7e10-7b42-9d0a-5f1c2a3b4c5d"}};
  EXPECT_EQ(answer(asked).status(), 404);
  asked.more = {{"HTTP_X_ORG_ID", harness.fixture.org_id}};
  StreamClient named = harness.ask(asked);
  EXPECT_TRUE(named.read_until("id: 2\n"));
}

TEST_F(StreamAccess, EndsWithTheSession) {
  expect_end_after(harness.new_token(), "UPDATE sessions SET revoked_at = now()");
}

// Two are asked for at once; with each end another one takes its place in the list.
TEST(StreamsOfManySessions, EndEachWithItsOwn) {
  StreamHarness harness([](relay::StreamOptions& options) { options.asked_at_once_max = 2; });
  StreamAsk asked;
  asked.run_id = harness.new_run();
  harness.write(asked.run_id, 1, 1);
  std::list<std::pair<std::string, StreamClient>> streams;
  for (int i = 0; i < 7; ++i) {
    asked.token = harness.new_token();
    streams.emplace_back(to_hex(sha256(asked.token)), harness.ask(asked));
    ASSERT_TRUE(streams.back().second.read_until("id: 1\n"));
  }
  for (int number : {3, 0, 4, 3, 0, 1, 0}) {
    auto ended = std::next(streams.begin(), number);
    harness.sql(
        fmt::format("UPDATE sessions SET revoked_at = now() WHERE id = (SELECT session_id FROM "
                    "access_tokens WHERE hash = '\\x{}')",
                    ended->first));
    EXPECT_TRUE(ended->second.read_to_end()) << streams.size() << " of 7";
    streams.erase(ended);
  }
}

TEST_F(StreamAccess, EndsWithTheUser) {
  expect_end_after(harness.token, "UPDATE users SET status = 'suspended'");
}

TEST_F(StreamAccess, EndsWithTheKey) {
  expect_end_after(new_key(harness.fixture.owner_id), "UPDATE api_keys SET revoked_at = now()");
}

TEST_F(StreamAccess, EndsWithTheMembership) {
  expect_end_after(harness.token, "DELETE FROM org_members");
}

TEST_F(StreamAccess, EndsWithTheThread) {
  expect_end_after(harness.token, "UPDATE threads SET deleted_at = now()");
  EXPECT_EQ(answer(run_id, harness.token).status(), 404);
}

TEST_F(StreamAccess, EndsWithTheRightToReadAll) {
  harness.sql("UPDATE org_members SET role = 'admin' WHERE user_id = '" + harness.fixture.other_id +
              "'");
  expect_end_after(harness.new_token(harness.fixture.other_id),
                   "UPDATE org_members SET role = 'member'");
}

TEST_F(StreamAccess, EndsWhenARuleExcludesItsAddressAndIsRefusedFromThenOn) {
  // A rule that another address is for changes nothing.
  harness.sql(fmt::format(
      "INSERT INTO ip_rules (org_id, type, cidr) VALUES ('{}', 'blocklist', '198.51.100.0/24')",
      harness.fixture.org_id));
  expect_end_after(harness.token, fmt::format("INSERT INTO ip_rules (org_id, type, cidr) VALUES "
                                              "('{}', 'blocklist', '192.0.2.0/24')",
                                              harness.fixture.org_id));
  StreamClient refused = answer(run_id, harness.token);
  EXPECT_EQ(refused.status(), 403);
  EXPECT_NE(refused.body().find("ip.blocked"), std::string::npos);
  EXPECT_EQ(refused.body().find(harness.fixture.org_id), std::string::npos);
  EXPECT_NE(refused.field("X-Hostler-Note").find("user " + harness.fixture.org_id),
            std::string::npos);
}

TEST_F(StreamAccess, IsRefusedToWhoLooksRiskyButNoAdmin) {
  config::Settings settings;
  settings.set(config::find_setting("gateway.risk_reject_threshold"), 0.4,
               config::SettingSource::file);
  harness.relay->use_gateway(client::Gateway(settings));
  StreamClient refused = answer(run_id, harness.token);  // without a user agent
  EXPECT_EQ(refused.status(), 403);
  EXPECT_NE(refused.body().find("risk.rejected"), std::string::npos);
  harness.sql("UPDATE users SET platform_admin = true WHERE id = '" + harness.fixture.owner_id +
              "'");
  open_stream(harness.token);
}

TEST_F(StreamAccess, ComesFromWhereATrustedProxySays) {
  config::Settings settings;
  settings.set(config::find_setting("gateway.ip_mode"), std::string("proxy"),
               config::SettingSource::file);
  settings.set(config::find_setting("gateway.trusted_cidrs"), std::vector<std::string>{"192.0.2.7"},
               config::SettingSource::file);
  harness.relay->use_gateway(client::Gateway(settings));
  harness.sql(fmt::format(
      "INSERT INTO ip_rules (org_id, type, cidr) VALUES ('{}', 'blocklist', '198.51.100.0/24')",
      harness.fixture.org_id));
  StreamAsk asked;
  asked.run_id = run_id;
  asked.token = harness.token;
  asked.more = {{"HTTP_X_FORWARDED_FOR", "1.1.1.1, 198.51.100.7"},
                {"HTTP_TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}};
  StreamClient refused = answer(asked);
  EXPECT_EQ(refused.status(), 403);
  EXPECT_EQ(refused.field("X-Trace-Id"), "0af7651916cd43dd8448eb211c80319c");
  open_stream(harness.token);
}

TEST_F(StreamAccess, DoesNotEndWithTheToken) {
  StreamClient client = open_stream(harness.token);
  StreamClient other = open_stream(harness.new_token());
  harness.sql("DELETE FROM access_tokens");
  harness.sql(
      "UPDATE sessions SET revoked_at = now() WHERE id = (SELECT max(id::text)::uuid FROM "
      "sessions)");
  ASSERT_TRUE(other.read_to_end());  // so a check has been made since
  harness.publish(run_id, 3, 3, StreamHarness::Last::completed);
  ASSERT_TRUE(client.read_to_end());
  EXPECT_EQ(client.seqs(), testing_support::one_to(3));
}

TEST_F(StreamAccess, AnswersOtherMethodsAndPathsAndBrokenRequests) {
  auto ask = [this](const std::string& bytes) {
    StreamClient client(harness.socket_path());
    client.send(bytes);
    EXPECT_TRUE(client.read_to_end());
    return client;
  };
  StreamClient post =
      ask(scgi_text({{"REQUEST_METHOD", "POST"}, {"REQUEST_URI", "/v1/runs/x/events"}}));
  EXPECT_EQ(post.status(), 405);
  EXPECT_EQ(post.field("Allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(ask(scgi_text({{"REQUEST_METHOD", "GET"}, {"REQUEST_URI", "/x"}})).status(), 404);
  EXPECT_EQ(ask("nonsense").status(), 400);
  EXPECT_EQ(ask("5:abcde;").status(), 400);
}

TEST_F(StreamAccess, NamesTheOriginsOfTheConfigurationOnly) {
  harness.relay->allow_origins({"https://app.example.org"});
  StreamAsk asked;
  asked.run_id = run_id;
  asked.token = harness.token;
  asked.query = "follow=false";
  asked.more = {{"HTTP_ORIGIN", "https://app.example.org"}, {"HTTPS", "on"}};
  StreamClient client = answer(asked);
  EXPECT_EQ(client.field("Access-Control-Allow-Origin"), "https://app.example.org");
  EXPECT_EQ(client.field("Strict-Transport-Security"), "max-age=63072000");
  asked.more = {{"HTTP_ORIGIN", "https://evil.example.org"}};
  EXPECT_EQ(answer(asked).field("Access-Control-Allow-Origin"), "");
}

}  // namespace
}  // namespace hostler
