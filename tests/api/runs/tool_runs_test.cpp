// Runs that call tools, through the whole stack: POST /v1/threads/{thread_id}/runs with the web
// tools and their four fake back ends, and POST /v1/runs/{run_id}/input with confirmations and
// questions.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/tool_harness.h"
#include "tests/support/rows/run_money.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

using Texts = std::vector<std::string>;

// The text in the form of a problem's or an event's JSON.
std::string member_of(const Json& object, std::string_view outer, std::string_view name) {
  const Json* inside = object.find(outer);
  return inside == nullptr ? "" : std::string(inside->text_or(name));
}

struct Asked {
  TestUser user;
  std::string run_id;
  std::string path() const { return "/v1/runs/" + run_id + "/input"; }
  Answer answer(std::string_view content) const {
    return user.client.post(path(), fmt::format(R"({{"content":{}}})", json_quote(content)));
  }
  RunStory end() const {
    wait_for_status(user.client, run_id, "completed");
    return story_of(user.client, run_id);
  }
};

// A run that waits for leave to search.
Asked ask_to_search(
    const std::string& message = "[tool web_search {\"query\":\"cats\"}] [say ok]") {
  use_tool_provider("web_search.alpha");
  Asked asked{register_user(tool_stack()), ""};
  std::string persona = make_persona(asked.user, "web_search ask_user", "web_search");
  asked.run_id =
      start_output(asked.user.client, message, fmt::format(R"({{"persona_id":"{}"}})", persona));
  EXPECT_EQ(wait_for_status(asked.user.client, asked.run_id, "waiting_for_input"),
            "waiting_for_input");
  return asked;
}

Asked ask_a_question(const std::string& message = "[ask What colour?] [say ok]") {
  Asked asked{register_user(tool_stack()), ""};
  asked.run_id = start_output(asked.user.client, message);
  EXPECT_EQ(wait_for_status(asked.user.client, asked.run_id, "waiting_for_input"),
            "waiting_for_input");
  return asked;
}

TEST(ToolConfirmations, SayWhatIsAskedAndGoOnWhenApproved) {
  Asked asked = ask_to_search();
  Json request = story_of(asked.user.client, asked.run_id).only("run.waiting_for_input");
  EXPECT_EQ(request.text_or("kind"), "tool_confirmation");
  EXPECT_EQ(request.text_or("tool_name"), "web_search");
  EXPECT_EQ(member_of(request, "arguments", "query"), "cats");
  EXPECT_NE(request.text_or("message"), "");
  EXPECT_EQ(asked.answer(" Approve\n").status, 200);
  RunStory story = asked.end();
  EXPECT_EQ(story.status, "completed");
  EXPECT_EQ(story.outcomes(), Texts{"ok"});
  EXPECT_EQ(story.only("run.input_provided").text_or("request_id"), request.text_or("request_id"));
  EXPECT_EQ(story.only("tool.call").text_or("tool_call_id"), request.text_or("tool_call_id"));
}

TEST(ToolConfirmations, TellTheModelWhenTheyAreDenied) {
  Asked asked = ask_to_search();
  EXPECT_EQ(asked.answer(R"({"decision":"deny","reason":"too dear"})").status, 200);
  RunStory story = asked.end();
  EXPECT_EQ(story.status, "completed");
  EXPECT_EQ(story.outcomes(), Texts{"tool.denied"});
  EXPECT_EQ(member_of(story.only("tool.result"), "error", "message"), "too dear");
  Asked other = ask_to_search();
  EXPECT_EQ(other.answer("DENY").status, 200);
  EXPECT_EQ(other.end().outcomes(), Texts{"tool.denied"});
}

TEST(ToolConfirmations, TakeEditedArguments) {
  Asked asked = ask_to_search();
  EXPECT_EQ(asked
                .answer(R"({"decision":"approve","arguments":{"query":"two dogs",)"
                        R"("max_results":2}})")
                .status,
            200);
  std::string result = asked.end().result();
  EXPECT_NE(result.find("Result 2 for two dogs"), std::string::npos) << result.substr(0, 500);
  EXPECT_EQ(result.find("Result 3"), std::string::npos);
  EXPECT_EQ(result.find("cats"), std::string::npos);
  Asked other = ask_to_search();
  EXPECT_EQ(other.answer(R"({"decision":"approve","arguments":{"question":1}})").status, 200);
  EXPECT_EQ(other.end().outcomes(), Texts{"tool.args_invalid"}) << "checked like the model's own";
}

TEST(ToolConfirmations, StayOpenAfterAnswersThatAreNone) {
  Asked asked = ask_to_search();
  for (const char* content :
       {"yes", "approved", "{}", "[]", R"("approve")", R"({"decision":"perhaps"})",
        R"({"decision":true})", R"({"decision":"approve","arguments":[1]})",
        R"({"decision":"approve","arguments":"x"})", R"({"decision":"approve")"}) {
    EXPECT_TRUE(has_fault(asked.answer(content), "content", "bad_format")) << content;
  }
  for (const char* body : {"{}", R"({"content":1})", R"({"content":null})", R"({"content":" "})"}) {
    EXPECT_EQ(asked.user.client.post(asked.path(), body).status, 422) << body;
  }
  EXPECT_EQ(asked.user.client.get("/v1/runs/" + asked.run_id).member("status"),
            "waiting_for_input");
  EXPECT_EQ(asked.answer("deny").status, 200);
  EXPECT_EQ(asked.end().status, "completed");
}

// A text that one reader accepts and another refuses must not become a call that nobody approved.
TEST(ToolConfirmations, StayOpenAfterAnswersThatAreNotReadWhole) {
  Asked asked = ask_to_search();
  const std::string deep = std::string(70, '[') + std::string(70, ']');
  for (const std::string& content : Texts{
           R"({"decision":"deny","decision":"deny","reason":"stop"})",
           R"({"decision":"deny","x":)" + deep + R"(,"reason":"stop"})",
           R"({"decision":"deny","x":1e999,"reason":"stop"})",
           R"({"decision":"deny","arguments":{"query":"p","query":"q"}})",
           R"({"decision":"approve","x":1e999,"arguments":{"query":"edited"}})",
           R"({"decision":"approve","decision":"deny"})",
           R"({"decision":"approve","reason":"\ud800"})",
           R"({"decision":"approve","arguments":null})",
           R"({"decision":"approve","argument":{"query":"edited"}})",
           R"({"decision":"deny","arguments":{"query":"edited"}})",
           R"({"decision":"approve"} approve)",
           "approve deny",
       }) {
    Answer refused = asked.answer(content);
    EXPECT_TRUE(has_fault(refused, "content", "bad_format")) << content;
    EXPECT_NE(refused.body.find("answer approve, deny, or"), std::string::npos) << refused.body;
  }
  EXPECT_EQ(asked.user.client.get("/v1/runs/" + asked.run_id).member("status"),
            "waiting_for_input");
  EXPECT_TRUE(story_of(asked.user.client, asked.run_id).all("tool.result").empty());
  std::string foreign = asked.answer(R"({"decision":"approve","argument":{}})").body;
  EXPECT_NE(foreign.find(R"(\"argument\" is not a member)"), std::string::npos) << foreign;
  EXPECT_EQ(asked.answer(R"({"decision":"deny"})").status, 200);
  EXPECT_EQ(asked.end().outcomes(), Texts{"tool.denied"});
}

// State that an API without stored decisions left.
TEST(ToolConfirmations, WithoutAStoredDecisionAreNotApproved) {
  Asked asked = ask_to_search();
  tool_stack().sql().run_text(fmt::format(
      "BEGIN; ALTER TABLE run_inputs DROP CONSTRAINT IF EXISTS run_inputs_decision; "
      "INSERT INTO run_inputs (run_id, request_id, org_id, turn, tool_call_id, kind, content) "
      "SELECT id, (input_request ->> 'request_id')::uuid, org_id, "
      "(input_request ->> 'turn')::integer, input_request ->> 'tool_call_id', 'tool_confirmation', "
      "'{{\"decision\":\"approve\"}}' FROM runs WHERE id = '{0}'; "
      "INSERT INTO run_events (run_id, seq, type, data) "
      "SELECT id, last_seq + 1, 'run.input_provided', '{{}}' FROM runs WHERE id = '{0}'; "
      "UPDATE runs SET status = 'running', last_seq = last_seq + 1, input_request = NULL, "
      "input_deadline = NULL, active_since = clock_timestamp(), after_input = true "
      "WHERE id = '{0}'; COMMIT",
      asked.run_id));
  EXPECT_EQ(asked.end().outcomes(), Texts{"tool.denied"});
}

TEST(ToolConfirmations, HoldAlsoWhenThePersonaAsksForNoneAnyMore) {
  Asked asked = ask_to_search();
  std::string persona =
      sql_value(tool_stack(), "SELECT persona_row_id FROM runs WHERE id = '" + asked.run_id + "'");
  EXPECT_EQ(
      asked.user.client.patch("/v1/personas/" + persona + "?scope=org", R"({"confirm_tools":[]})")
          .status,
      200);
  EXPECT_EQ(asked.answer("deny").status, 200);
  EXPECT_EQ(asked.end().outcomes(), Texts{"tool.denied"});
}

TEST(ToolConfirmations, OfParallelAnswersExactlyOneWins) {
  Asked asked = ask_to_search();
  std::vector<Call> calls;
  for (int i = 0; i < 12; ++i) {
    calls.push_back({"POST",
                     asked.path(),
                     i % 2 == 0 ? R"({"content":"approve"})" : R"({"content":"deny"})",
                     "application/json",
                     {}});
  }
  int won = 0;
  for (const Answer& answer : asked.user.client.send_all(calls)) {
    if (answer.status == 200) {
      ++won;
    } else {
      EXPECT_TRUE(is_problem(answer, 409, "runs.not_waiting"));
    }
  }
  EXPECT_EQ(won, 1);
  RunStory story = asked.end();
  EXPECT_EQ(story.all("run.input_provided").size(), 1u);
  EXPECT_EQ(story.all("tool.result").size(), 1u);
}

TEST(ToolQuestions, TakeExactlyThirtyTwoKibibytesAndNotOneMore) {
  Asked asked = ask_a_question();
  std::string max(32 * 1024, 'x');
  EXPECT_TRUE(has_fault(asked.answer(max + "x"), "content", "too_long"));
  std::string wide;
  for (int i = 0; i < 16 * 1024; ++i) wide += "ä";
  EXPECT_TRUE(has_fault(asked.answer(wide + "x"), "content", "too_long")) << "bytes count";
  EXPECT_EQ(asked.answer(max).status, 200);
  RunStory story = asked.end();
  EXPECT_EQ(story.status, "completed");
  EXPECT_NE(story.result().find(max), std::string::npos);
}

TEST(ToolQuestions, AreAskedOneAfterTheOther) {
  Asked asked =
      ask_a_question(R"([tools ask_user {"message":"First?"} | ask_user {"message":"Second?"}])");
  EXPECT_EQ(asked.answer("one").status, 200);
  std::vector<Json> requests;
  ASSERT_TRUE(eventually(15'000, [&] {
    requests = story_of(asked.user.client, asked.run_id).all("run.waiting_for_input");
    return requests.size() == 2;
  }));
  EXPECT_EQ(requests[0].text_or("message"), "First?");
  EXPECT_EQ(requests[1].text_or("message"), "Second?");
  EXPECT_EQ(asked.answer("two").status, 200);
  RunStory story = asked.end();
  EXPECT_EQ(story.status, "completed");
  std::vector<Json> results = story.all("tool.result");
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(member_of(results[0], "result", "answer"), "one");
  EXPECT_EQ(member_of(results[1], "result", "answer"), "two");
}

TEST(ToolQuestions, AreTheCreatorsAloneToAnswer) {
  TestUser owner = register_user(tool_stack());
  TestUser member = register_user(tool_stack());
  TestUser second = register_user(tool_stack());
  std::string work = make_workspace(tool_stack(), owner);
  add_member(tool_stack(), work, member, "member");
  add_member(tool_stack(), work, second, "admin");
  // The workspace has no credits; free models need none.
  std::string run_id = start_output(member.client.with_org(work), "[ask Who?]");
  ASSERT_EQ(wait_for_status(member.client.with_org(work), run_id, "waiting_for_input"),
            "waiting_for_input");
  std::string path = "/v1/runs/" + run_id + "/input";
  const std::string body = R"({"content":"me"})";
  EXPECT_TRUE(is_problem(owner.client.with_org(work).post(path, body), 403, "policy.denied"));
  EXPECT_TRUE(is_problem(second.client.with_org(work).post(path, body), 403, "policy.denied"));
  EXPECT_TRUE(
      is_problem(register_user(tool_stack()).client.post(path, body), 404, "runs.not_found"));
  EXPECT_EQ(member.client.with_org(work).post(path, body).status, 200);
}

TEST(ToolQuestions, ThatNobodyAnswersInTimeFailTheRun) {
  Asked asked = ask_a_question("[say thinking] [ask Anybody?]");
  tool_stack().sql().run_text(fmt::format(
      "UPDATE runs SET input_deadline = clock_timestamp() WHERE id = '{}'", asked.run_id));
  EXPECT_EQ(wait_for_status(asked.user.client, asked.run_id, "failed"), "failed");
  RunStory story = story_of(asked.user.client, asked.run_id);
  EXPECT_EQ(story.only("run.failed").text_or("code"), "run.input_timeout");
  EXPECT_TRUE(is_problem(asked.answer("too late"), 409, "runs.not_waiting"));
}

// A setting of the platform while a test lasts.
class LiveSetting {
 public:
  LiveSetting(std::string key, int64_t value) : path_("/v1/admin/settings/" + std::move(key)) {
    std::string body = fmt::format(R"({{"value":{}}})", value);
    EXPECT_EQ(tool_admin().client.put(path_, body).status, 200);
  }
  ~LiveSetting() { EXPECT_EQ(tool_admin().client.del(path_).status, 204); }
  LiveSetting(const LiveSetting&) = delete;
  LiveSetting& operator=(const LiveSetting&) = delete;

 private:
  std::string path_;
};

int64_t used_by(const TestUser& user, const std::string& run_id) {
  return user.client.get("/v1/runs/" + run_id).json().integer_or("credits_used", -1);
}

// The daemon hears of a setting within a second.
bool costs(int64_t credits) {
  return eventually(10'000, [credits] {
    TestUser user = register_user(tool_stack());
    RunStory story = run_story(user.client, search_call("x"));
    return used_by(user, story.run_id) == credits;
  });
}

TEST(PlatformTools, CostWhatTheOperatorSays) {
  use_tool_provider("web_search.alpha");
  LiveSetting price("credit.tool_call", 400);
  ASSERT_TRUE(costs(400));
  TestUser user = register_user(tool_stack());
  std::string two = R"([tools web_search {"query":"x"} | web_search {"query":"fail 503"}])";
  RunStory story = run_story(user.client, two);
  EXPECT_EQ(story.status, "completed");
  EXPECT_EQ(used_by(user, story.run_id), 800) << "the provider was asked, whatever it answered";
  Json turns = user.client.get("/v1/runs/" + story.run_id + "/turns").json();
  ASSERT_EQ(turns.as_array()->size(), 2u);
  EXPECT_EQ(turns.as_array()->at(0).integer_or("credits", -1), 0);
  EXPECT_EQ(turns.as_array()->at(1).integer_or("credits", -1), 800) << "of the turn that called";
  RunStory poor = run_story(user.client, search_call("y") + "[say sorry]");
  EXPECT_EQ(poor.status, "completed") << "the model is told";
  EXPECT_EQ(poor.outcomes(), Texts{"credits.insufficient"});
  Json account = user.client.get("/v1/me/credits").json();
  EXPECT_EQ(account.integer_or("balance", -1), 200) << account.dump();
  EXPECT_EQ(account.integer_or("available", -1), 200);
  Json nobody = user.client.get("/v1/me/usage/by-end-user").json().as_array()->at(0);
  EXPECT_EQ(nobody.integer_or("credits", 0), 800) << nobody.dump();
  std::string thread = make_thread(user.client, R"({"end_user":"anna"})");
  sql_value(tool_stack(),
            fmt::format("SELECT credit_post('{}', 1000, 'admin_adjustment')", user.org_id));
  post_message(user.client, thread, search_call("z"));
  std::string run_id = start_run(user.client, thread);
  ASSERT_EQ(wait_for_status(user.client, run_id, "completed"), "completed");
  Json rows = user.client.get("/v1/me/usage/by-end-user").json();
  ASSERT_EQ(rows.as_array()->size(), 2u);
  EXPECT_EQ(rows.as_array()->at(0).text_or("end_user"), "anna") << "equal costs, by name";
  EXPECT_EQ(rows.as_array()->at(0).integer_or("credits", 0), 400) << rows.dump();
  EXPECT_EQ(ledger_fault(tool_stack().sql()), "");
}

TEST(PlatformTools, AreCountedByDayAndAnOrganizationsOwnAreNot) {
  use_tool_provider("web_search.alpha");
  TestUser user = register_user(tool_stack());
  Answer limited = tool_admin().client.post(
      "/v1/entitlement-overrides",
      fmt::format(R"({{"org_id":"{}","key":"limit.platform_tool_calls_per_day","value":"2",)"
                  R"("value_type":"integer"}})",
                  user.org_id));
  ASSERT_EQ(limited.status, 201) << limited.body;
  std::string call = R"(web_search {"query":"x"})";
  RunStory story = run_story(user.client, "[tools " + call + " | " + call + " | " + call + "]");
  Texts outcomes = story.outcomes();
  std::sort(outcomes.begin(), outcomes.end());
  EXPECT_EQ(outcomes, (Texts{"ok", "ok", "tool.limit_exceeded"}));
  EXPECT_EQ(run_story(user.client, search_call("x")).outcomes(), Texts{"tool.limit_exceeded"});
  EXPECT_EQ(limit_used(user.client, "limit.platform_tool_calls_per_day"), 2);
  EXPECT_EQ(user.client.put(provider_path("web_search.beta", "activate") + "?scope=org", "").status,
            204);
  EXPECT_EQ(run_story(user.client, search_call("x")).outcomes(), Texts{"tool.not_configured"})
      << "the organization's own: not the platform's";
}

TEST(ToolResults, EndARunThatHasNoRoomForThem) {
  use_tool_provider("web_search.alpha");
  LiveSetting limit("limit.run_event_bytes", 1500);
  TestUser user = register_user(tool_stack());
  std::string call = R"(web_search {"query":"x","max_results":20})";
  RunStory story;
  auto is_full = [&] {
    story = run_story(user.client, "[tools " + call + " | " + call + "] [say done]");
    return story.status == "failed";
  };
  ASSERT_TRUE(eventually(10'000, is_full)) << story.text();
  EXPECT_EQ(story.only("run.failed").text_or("code"), "run.output_limit");
  EXPECT_EQ(story.outcomes().back(), "run.output_limit");
  size_t bytes = 0;
  for (const Json& event : story.events) bytes += event.find("data")->dump().size();
  EXPECT_LT(bytes, 2500U);
}

// The other organization's calls hang; the daemon has room for sixteen of them.
TEST(ToolFloods, AreInNobodysWay) {
  use_tool_provider("web_search.alpha");
  TestUser flooder = register_user(tool_stack());
  std::string hanging = R"(web_search {"query":"slow 6000 x"})";
  for (int i = 1; i < 30; ++i) hanging += R"( | web_search {"query":"slow 6000 x"})";
  std::string flood = start_output(flooder.client, "[tools " + hanging + "]");
  EXPECT_TRUE(eventually(
      10'000, [&] { return story_of(flooder.client, flood).all("tool.call").size() == 30; }));
  RunStory other = run_story(register_user(tool_stack()).client, search_call("quick"));
  EXPECT_EQ(other.outcomes(), Texts{"ok"});
  EXPECT_LT(other.only("tool.result").integer_or("duration_ms", 10'000), 3000);
  EXPECT_TRUE(eventually(
      20'000, [&] { return story_of(flooder.client, flood).all("tool.result").size() >= 16; }));
  EXPECT_EQ(story_of(flooder.client, flood).all("tool.result").size(), 16U);
  EXPECT_EQ(flooder.client.post("/v1/runs/" + flood + ":cancel", "").status, 200);
}

}  // namespace
}  // namespace hostler::testing_support
