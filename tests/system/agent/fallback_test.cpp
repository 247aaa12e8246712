// Chains of routes with the real daemon: stand-ins that fail in all the ways of real providers, the
// next route that answers, what becomes of the text that is void, of money, and of the breaker.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/peers/stand_in.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& shared_stack() {
  static ApiStack stack(ApiStackOptions{
      {"HOSTLER_MODEL_FIRST_BYTE_TIMEOUT_MS=700", "HOSTLER_MODEL_IDLE_TIMEOUT_MS=700"}, true});
  return stack;
}

class Fallback : public testing::Test {
 protected:
  static void SetUpTestSuite() { std::signal(SIGPIPE, SIG_IGN); }
  std::string add_route(const std::string& url, std::string_view prices = "") {
    Answer provider = admin_.client.post(
        "/v1/llm-providers",
        fmt::format(R"({{"name":"{}","provider_kind":"openai","base_url":"{}"}})", new_name(),
                    url));
    EXPECT_EQ(provider.status, 201) << provider.body;
    Answer model =
        admin_.client.post("/v1/llm-providers/" + provider.member("id") + "/models",
                           fmt::format(R"({{"model":"{}"{}}})", new_name("model"), prices));
    EXPECT_EQ(model.status, 201) << model.body;
    return model.member("id");
  }
  // A persona of the user's organization; its persona_id.
  std::string chain_of(const TestUser& user, const std::vector<std::string>& routes,
                       std::string_view further = "") {
    std::string others;
    for (size_t i = 1; i < routes.size(); ++i) {
      others += fmt::format("{}\"{}\"", i == 1 ? "" : ",", routes[i]);
    }
    std::string key = new_name("chain");
    Answer made = user.client.post(
        "/v1/personas?scope=org",
        fmt::format(R"({{"persona_key":"{}","version":"1","model":"{}","fallback_routes":[{}]{}}})",
                    key, routes[0], others, further));
    EXPECT_EQ(made.status, 201) << made.body;
    return key + "@1";
  }
  RunStory run(const TestUser& user, const std::string& persona_id, std::string_view further = "",
               std::string_view message = "hello") {
    return run_story(user.client, message,
                     fmt::format(R"({{"persona_id":"{}"{}}})", persona_id, further));
  }
  static std::string hop_of(const RunStory& story) {
    std::string reasons;
    for (const Json& hop : story.all("run.fell_back")) {
      reasons += (reasons.empty() ? "" : " ") + std::string(hop.text_or("reason"));
    }
    return reasons;
  }
  std::string message_of(const RunStory& story) {
    return sql_value(stack_,
                     "SELECT coalesce(string_agg(content || CASE WHEN incomplete THEN ' "
                     "(incomplete)' ELSE '' END, '|'), '') FROM messages WHERE role = "
                     "'assistant' AND run_id = '" +
                         story.run_id + "'");
  }
  std::string bills_of(const RunStory& story) {
    return sql_value(stack_,
                     "SELECT string_agg(concat_ws(' ', u.turn, m.id, u.output_tokens, "
                     "u.measured), ', ' ORDER BY u.turn) FROM usage_records u JOIN "
                     "llm_models m ON m.model = u.model WHERE u.run_id = '" +
                         story.run_id + "'");
  }
  std::string health_of(const std::string& route_id) {
    Json providers = admin_.client.get("/v1/llm-providers?limit=100").json();
    for (const Json& provider : *providers.as_array()) {
      for (const Json& model : *provider.find("models")->as_array()) {
        if (model.text_or("id") == route_id) {
          return std::string(model.find("health")->text_or("state"));
        }
      }
    }
    return "gone";
  }
  void expect_no_faults() {
    EXPECT_EQ(run_faults(stack_), "");
    EXPECT_EQ(money_faults(stack_), "");
  }

  ApiStack& stack_ = shared_stack();
  TestUser admin_ = register_admin(stack_);
  TestUser user_ = register_user(stack_);
  StandIn good_{StandIn::sends(answer_of("answer"))};
  std::string good_route_ = add_route(good_.url());
};

TEST_F(Fallback, LeadsToTheNextRouteAfterEveryFaultOfAProvider) {
  std::string half = stream_head + chunk(text_event("void text"));
  struct Case {
    StandIn::Script script;
    std::string_view reason;
  };
  const Case cases[] = {
      {StandIn::sends(refusal_of(503)), "http_503"},
      {StandIn::sends(refusal_of(529)), "http_529"},
      {StandIn::sends(refusal_of(408)), "http_408"},
      {StandIn::sends(refusal_of(429, "Retry-After: 1\r\n")), "http_429"},
      {StandIn::stops_after(""), "timeout_first_byte"},
      {StandIn::stops_after(half), "timeout_idle"},
      {StandIn::sends(half), "reset"},
      {StandIn::sends(half + stream_end), "broken_off"},
      {StandIn::sends("garbage"), "protocol"},
      {StandIn::sends(stream_of("data: {\"choices\":[{\"ind\n\n")), "bad_response"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.reason);
    StandIn bad(each.script);
    std::string bad_route = add_route(bad.url());
    RunStory story = run(user_, chain_of(user_, {bad_route, good_route_}));
    EXPECT_EQ(story.status, "completed");
    Json hop = story.only("run.fell_back");
    EXPECT_EQ(hop.text_or("from"), bad_route);
    EXPECT_EQ(hop.text_or("to"), good_route_);
    EXPECT_EQ(hop.text_or("reason"), each.reason);
    EXPECT_TRUE(story.all("run.retrying").empty());
    EXPECT_EQ(bad.requests().size(), 1u) << "one try";
    EXPECT_EQ(message_of(story), "answer");
  }
  expect_no_faults();
}

TEST_F(Fallback, LeadsAwayFromProvidersThatAreGoneOrSpeakNoTls) {
  std::string gone;
  { gone = StandIn(StandIn::sends("")).url(); }
  RunStory refused = run(user_, chain_of(user_, {add_route(gone), good_route_}));
  EXPECT_EQ(hop_of(refused), "connect");
  EXPECT_EQ(message_of(refused), "answer");
  ScriptedServer plain([](Peer& peer) { peer.send("no TLS here\r\n\r\n"); });
  RunStory no_tls =
      run(user_, chain_of(user_, {add_route("https" + plain.url("/v1").substr(4)), good_route_}));
  EXPECT_EQ(hop_of(no_tls), "tls");
  EXPECT_EQ(message_of(no_tls), "answer");
}

TEST_F(Fallback, IsNotForWhatTheModelRefuses) {
  for (int status : {400, 401, 403, 404, 422}) {
    SCOPED_TRACE(status);
    StandIn bad(StandIn::sends(refusal_of(status)));
    RunStory story = run(user_, chain_of(user_, {add_route(bad.url()), good_route_}));
    EXPECT_EQ(story.status, "failed");
    EXPECT_EQ(story.only("run.failed").text_or("code"), "model.rejected");
    EXPECT_EQ(hop_of(story), "");
  }
  EXPECT_TRUE(good_.requests().empty());
  StandIn slow([](Peer& peer, const std::string&) {
    peer.send(stream_head);
    for (int i = 0; i < 8; ++i) {
      peer.send(chunk(text_event("x")));
      peer.pause(150);
    }
    peer.send(chunk(stop_event + done_event) + stream_end);
  });
  RunStory dripped = run(user_, chain_of(user_, {add_route(slow.url()), good_route_}));
  EXPECT_EQ(hop_of(dripped), "");
  EXPECT_EQ(message_of(dripped), "xxxxxxxx") << "slow, but never silent";
}

TEST_F(Fallback, BillsEveryAttemptAndKeepsNoVoidText) {
  StandIn first(StandIn::sends(stream_of(text_event("void one") + usage_event)));
  StandIn second(StandIn::sends(stream_head + chunk(text_event("void two"))));
  std::string first_route = add_route(first.url(), R"(,"output_usd_per_mtok":2)");
  std::string second_route = add_route(second.url(), R"(,"output_usd_per_mtok":3)");
  RunStory story = run(user_, chain_of(user_, {first_route, second_route, good_route_}));
  EXPECT_EQ(message_of(story), "answer");
  EXPECT_EQ(hop_of(story), "broken_off reset");
  EXPECT_EQ(bills_of(story),
            fmt::format("1 {} 50 t, 2 {} 2 f, 3 {} 50 t", first_route, second_route, good_route_));
  expect_no_faults();
  RunStory all_fail = run(user_, chain_of(user_, {first_route, second_route}));
  EXPECT_EQ(all_fail.status, "failed");
  EXPECT_EQ(all_fail.only("run.failed").text_or("code"), "model.stream_broken");
  EXPECT_EQ(message_of(all_fail), "void two (incomplete)") << "nothing of the first route's";
  expect_no_faults();
}

TEST_F(Fallback, ShowsNoVoidTextInAnyProtocol) {
  StandIn bad(StandIn::sends(stream_head + chunk(text_event("void text"))));
  std::string persona = chain_of(user_, {add_route(bad.url()), good_route_});
  const Client& client = user_.client;
  auto chat = [&](std::string_view further) {
    return client.post(
        "/v1/openai/chat/completions",
        fmt::format(R"({{"model":"{}","messages":[{{"role":"user","content":"q"}}]{}}})", persona,
                    further));
  };
  Answer whole = chat("");
  EXPECT_EQ(whole.status, 200) << whole.body;
  EXPECT_NE(whole.body.find(R"("content":"answer")"), std::string::npos) << whole.body;
  Answer streamed = chat(R"(,"stream":true)");
  EXPECT_NE(streamed.body.find(R"("code":"run.fell_back")"), std::string::npos) << streamed.body;
  EXPECT_EQ(streamed.body.find("answer\""), std::string::npos) << "the stream ended with the error";
  auto response = [&](std::string_view further) {
    return client.post("/v1/openai/responses",
                       fmt::format(R"({{"model":"{}","input":"q"{}}})", persona, further));
  };
  Answer held = response("");
  EXPECT_NE(held.body.find(R"("text":"answer")"), std::string::npos) << held.body;
  EXPECT_EQ(held.body.find("void text"), std::string::npos) << held.body;
  Answer items = response(R"(,"stream":true)");
  size_t end = items.body.find("event: response.completed");
  ASSERT_NE(end, std::string::npos) << items.body;
  EXPECT_EQ(items.body.find("void text", end), std::string::npos) << items.body;
  EXPECT_NE(items.body.find(R"("text":"answer")", end), std::string::npos) << items.body;
  std::string chat_id = new_name("chat");
  Answer ui = client.post("/v1/ui/chat",
                          fmt::format(R"({{"id":"{}","persona_id":"{}","trigger":"submit-message",)"
                                      R"("messages":[{{"id":"u1","role":"user","parts":[)"
                                      R"({{"type":"text","text":"q"}}]}}]}})",
                                      chat_id, persona));
  EXPECT_NE(ui.body.find(R"("type":"error")"), std::string::npos) << ui.body;
  ASSERT_EQ(wait_for_status(client, ui.header("x-hostler-run"), "completed"), "completed");
  Answer read = client.get("/v1/ui/chat/" + chat_id + "/messages");
  EXPECT_NE(read.body.find(R"("text":"answer")"), std::string::npos) << read.body;
  EXPECT_EQ(read.body.find("void text"), std::string::npos) << read.body;
  Answer agui = client.post(
      "/v1/agui",
      fmt::format(R"({{"threadId":"{}","runId":"r","state":{{}},"tools":[],"context":[],)"
                  R"("forwardedProps":{{"persona_id":"{}"}},)"
                  R"("messages":[{{"id":"a1","role":"user","content":"q"}}]}})",
                  new_name("thread"), persona));
  EXPECT_NE(agui.body.find("RUN_ERROR"), std::string::npos) << agui.body;
  EXPECT_NE(agui.body.find("run.fell_back"), std::string::npos) << agui.body;
  ASSERT_EQ(wait_for_status(client, agui.header("x-hostler-run"), "completed"), "completed");
  expect_no_faults();
}

TEST_F(Fallback, StaysWithTheRouteThatAnsweredAndSendsItNoDataOfTheOther) {
  std::atomic<int> asked{0};
  StandIn first([&](Peer& peer, const std::string&) {
    if (asked++ > 0) return peer.reset();
    peer.send(
        stream_of(R"(data: {"choices":[{"index":0,"delta":{"reasoning_content":"secret thought",)"
                  R"("tool_calls":[{"index":0,"id":"c","function":{"name":"nothing_known",)"
                  R"("arguments":"{}"}}]},"finish_reason":"tool_calls"}]})"
                  "\n\n" +
                  done_event));
  });
  std::string first_route = add_route(first.url());
  RunStory story = run(user_, chain_of(user_, {first_route, good_route_}));
  EXPECT_EQ(story.status, "completed");
  EXPECT_EQ(hop_of(story), "reset");
  EXPECT_EQ(story.all("tool.result").size(), 1u);
  std::string sent = good_.requests().back();
  EXPECT_NE(sent.find("nothing_known"), std::string::npos) << sent;
  EXPECT_EQ(sent.find("secret thought"), std::string::npos) << sent;
  EXPECT_EQ(user_.client.get("/v1/runs/" + story.run_id).member("model"),
            sql_value(stack_, "SELECT model FROM llm_models WHERE id = '" + good_route_ + "'"));
  expect_no_faults();
}

TEST_F(Fallback, IsNotForRequestsThatNameARoute) {
  StandIn bad(StandIn::sends(refusal_of(500)));
  std::string bad_route = add_route(bad.url());
  std::string persona = chain_of(user_, {bad_route, good_route_});
  RunStory story = run(user_, persona, fmt::format(R"(,"route_id":"{}")", bad_route));
  EXPECT_EQ(story.status, "failed");
  EXPECT_EQ(bad.requests().size(), 3u) << "tried again as ever";
  EXPECT_TRUE(good_.requests().empty());
}

TEST_F(Fallback, SkipsARouteThatABudgetDoesNotAllow) {
  StandIn dear(StandIn::sends(answer_of("dear")));
  std::string dear_route = add_route(dear.url(), R"(,"output_usd_per_mtok":1000)");
  constexpr const char* budget = R"(,"budget":{"unit":"credits","amount":1})";
  RunStory story = run(user_, chain_of(user_, {dear_route, good_route_}), budget);
  EXPECT_EQ(hop_of(story), "budget");
  EXPECT_EQ(message_of(story), "answer");
  EXPECT_TRUE(dear.requests().empty());
  RunStory none = run(
      user_, chain_of(user_, {dear_route, add_route(dear.url(), R"(,"output_usd_per_mtok":2000)")}),
      budget);
  EXPECT_EQ(none.only("run.failed").text_or("code"), "budget.exhausted");
  expect_no_faults();
}

TEST_F(Fallback, LeavesOutAModelThatFailsForSeveralOrganizations) {
  StandIn bad(StandIn::sends(refusal_of(503)));
  std::string bad_route = add_route(bad.url());
  std::vector<TestUser> users;
  std::vector<std::string> personas;
  for (int i = 0; i < 3; ++i) {
    users.push_back(register_user(stack_));
    personas.push_back(chain_of(users.back(), {bad_route, good_route_}));
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(hop_of(run(users[0], personas[0])), "http_503");
  EXPECT_EQ(health_of(bad_route), "closed") << "one organization opens no breaker";
  for (int i = 1; i < 3; ++i) run(users[i], personas[i]);
  EXPECT_TRUE(eventually(10'000, [&] { return health_of(bad_route) == "open"; }));
  size_t asked = bad.requests().size();
  RunStory left_out = run(user_, chain_of(user_, {bad_route, good_route_}));
  EXPECT_EQ(hop_of(left_out), "circuit_open");
  EXPECT_EQ(message_of(left_out), "answer");
  EXPECT_EQ(bad.requests().size(), asked);
  // A probe that fails, then one that succeeds.
  auto let_time_pass = [&] {
    sql_value(stack_, "UPDATE llm_models SET breaker_retry_at = now() WHERE id = '" + bad_route +
                          "' RETURNING ''");
  };
  let_time_pass();
  EXPECT_EQ(hop_of(run(users[0], personas[0])), "http_503");
  EXPECT_TRUE(eventually(10'000, [&] { return health_of(bad_route) == "open"; }));
  bad.becomes(StandIn::sends(answer_of("well again")));
  let_time_pass();
  EXPECT_EQ(message_of(run(users[0], personas[0])), "well again");
  EXPECT_TRUE(eventually(10'000, [&] { return health_of(bad_route) == "closed"; }));
  EXPECT_EQ(hop_of(run(users[1], personas[1])), "");
}

TEST_F(Fallback, OpensNoBreakerForRefusals) {
  StandIn bad(StandIn::sends(refusal_of(429)));
  std::string bad_route = add_route(bad.url());
  for (int i = 0; i < 3; ++i) {
    TestUser user = register_user(stack_);
    std::string persona = chain_of(user, {bad_route, good_route_});
    for (int j = 0; j < 7; ++j) EXPECT_EQ(hop_of(run(user, persona)), "http_429");
  }
  EXPECT_EQ(health_of(bad_route), "closed");
}

}  // namespace
}  // namespace hostler::testing_support
