// POST /v1/agui through nginx, pool and relay: what a message begins, what an answer continues, and
// whom the thread belongs to.
#include <gtest/gtest.h>

#include <set>

#include "tests/api/agui/agui_harness.h"
#include "tests/support/rigs/model_route.h"
#include "tests/support/rows/function_tools.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return runner_stack(); }

// The thread's messages, one a line.
std::string messages_of(const Client& client, const std::string& thread_id) {
  std::string all;
  Json listed = client.get("/v1/threads/" + thread_id + "/messages").json();
  for (const Json& message : *listed.as_array()) {
    all += fmt::format("{}: {}\n", message.text_or("role"), message.text_or("content"));
  }
  return all;
}
std::string thread_of(const Client& client, const Answer& answer) {
  return client.get("/v1/runs/" + answer.header("x-hostler-run")).member("thread_id");
}

TEST(AguiRun, AnswersAMessageInAThreadThatItMakes) {
  TestUser user = register_user(stack());
  Answer first = user.client.post(
      agui_route, agui_says("chat 1", "[say one]",
                            R"(,"unknown":1,"parentRunId":"p","tools":[{"name":"open_page"}])"));
  AguiClient stream = agui_stream(first);
  EXPECT_EQ(stream.text(), "one");
  EXPECT_EQ(stream.outcome(), "success");
  EXPECT_EQ(stream.last.text_or("threadId"), "chat 1");
  EXPECT_EQ(stream.last.text_or("runId"), "r1");
  EXPECT_FALSE(first.has_header("idempotency-replayed"));
  Json run = user.client.get("/v1/runs/" + first.header("x-hostler-run")).json();
  EXPECT_EQ(run.text_or("status"), "completed");
  // The thread is the truth: what else the client holds says nothing.
  std::string messages = R"({"role":"system","content":"x"},{"role":"user","content":"x"},)"
                         R"({"role":"user","content":[{"type":"text","text":"[say "},)"
                         R"({"type":"text","text":"two]"}]})";
  Answer second = user.client.post(agui_route, agui_body("chat 1", messages));
  EXPECT_EQ(agui_stream(second).text(), "two");
  std::string thread_id = thread_of(user.client, first);
  EXPECT_EQ(thread_of(user.client, second), thread_id);
  EXPECT_EQ(messages_of(user.client, thread_id),
            "user: [say one]\nassistant: one\nuser: [say two]\nassistant: two\n");
  // By its id, too.
  Answer third = user.client.post(agui_route, agui_says(thread_id, "[say three]"));
  EXPECT_EQ(thread_of(user.client, third), thread_id);
}

// The app's context for its agent is not part of the conversation.
TEST(AguiRun, TellsItsContextToThisModelAlone) {
  TestUser user = register_user(stack());
  constexpr const char* context =
      R"(,"context":[{"description":"The open page","value":"/orders"},)"
      R"({"description":"Language","value":"de"}])";
  Answer answer = user.client.post(agui_route, agui_says("chat 1", "[echo-history]", context));
  std::string text = agui_stream(answer).text();
  EXPECT_NE(text.find(R"(The open page:\n/orders\n\nLanguage:\nde"},{"role":"user")"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("You are a helpful assistant"), std::string::npos) << text;
  Answer next =
      user.client.post(agui_route, agui_says("chat 1", "[echo-history]", R"(,"context":[])"));
  EXPECT_EQ(agui_stream(next).text().find(R"(The open page:\n)"), std::string::npos);
}

TEST(AguiRun, TakesPersonaRouteAndMarks) {
  TestUser user = register_user(stack());
  std::string persona = make_persona(user, "web_search");
  Answer answer = user.client.post(
      agui_route,
      fmt::format(R"({{"threadId":"c","runId":"r","messages":[{{"role":"user","content":"a"}}],)"
                  R"("forwardedProps":{{"persona_id":"{}","metadata":{{"a":"b"}},)"
                  R"("end_user":"u-7","else":1}}}})",
                  persona));
  agui_stream(answer);
  Json run = user.client.get("/v1/runs/" + answer.header("x-hostler-run")).json();
  EXPECT_EQ(run.text_or("persona_id"), persona);
  EXPECT_EQ(run.find("metadata")->text_or("a"), "b");
  EXPECT_EQ(run.text_or("end_user"), "u-7");
  Json thread = user.client.get("/v1/threads/" + std::string(run.text_or("thread_id"))).json();
  EXPECT_EQ(thread.text_or("end_user"), "u-7");
}

TEST(AguiRun, GoesOnWithTheResultsOfItsClient) {
  TestUser user = register_user(stack());
  Answer first = user.client.post(
      agui_route,
      agui_says("c",
                R"([tools weather {"city":"Rome"} | web_search {"query":"x"} | traffic] )"
                "[echo-history]",
                agui_tools));
  AguiClient stream = agui_stream(first);
  std::vector<std::string> pending = stream.pending();
  ASSERT_EQ(pending.size(), 2U);
  EXPECT_EQ(stream.results.size(), 1U) << "of the one that ran here";
  std::string here = stream.results.begin()->first;
  // One alone is refused, and stored is nothing.
  Answer partial =
      user.client.post(agui_route, agui_body("c", agui_result(pending[0], R"({"celsius":30})")));
  EXPECT_TRUE(has_fault(partial, "messages", "required"));
  EXPECT_NE(partial.body.find(pending[1]), std::string::npos) << partial.body;
  std::string failed = fmt::format(
      R"({{"id":"u","role":"tool","toolCallId":"{}","content":"jam","error":"closed"}})",
      pending[1]);
  // Clients send what they were stream of other calls along.
  std::string all = agui_result(here, stream.results[here]) + "," +
                    agui_result(pending[0], R"({"celsius":30})") + "," + failed;
  Call call{"POST",
            agui_route,
            agui_body("c", all, R"(,"runId2":"")"),
            "application/json",
            {{"Idempotency-Key", "agui-results"}}};
  Answer second = user.client.send(call);
  stream.read(agui_frames(second));
  EXPECT_EQ(second.header("x-hostler-run"), first.header("x-hostler-run"));
  EXPECT_EQ(stream.outcome(), "success");
  EXPECT_NE(stream.text().find(R"({\"celsius\":30})"), std::string::npos) << stream.text();
  EXPECT_NE(stream.text().find("closed"), std::string::npos) << stream.text();
  // Repeated under its key it is the same stream; else it comes too late.
  Answer again = user.client.send(call);
  EXPECT_EQ(agui_frames(again), agui_frames(second));
  EXPECT_EQ(again.header("idempotency-replayed"), "true");
  call.headers.clear();
  EXPECT_TRUE(is_problem(user.client.send(call), 409, "runs.not_waiting"));
}

TEST(AguiRun, ResumesAConfirmation) {
  TestUser user = register_user(stack());
  std::string persona = make_persona(user, "web_search", "web_search");
  std::string says =
      fmt::format(R"({{"threadId":"c","runId":"r1","messages":[{{"role":"user","content":)"
                  R"("[tool web_search {{\"query\":\"x\"}}] [say after]"}}],)"
                  R"("forwardedProps":{{"persona_id":"{}"}}}})",
                  persona);
  struct Case {
    const char* status;
    const char* payload;
    const char* code;  // of the call's result
  };
  for (const Case& each :
       {Case{"resolved", R"({"approved":true,"arguments":{"query":"y"}})", "tool.not_configured"},
        Case{"resolved", R"({"approved":false,"reason":"too dear"})", "tool.denied"},
        Case{"resolved", R"("approve")", "tool.not_configured"},
        Case{"cancelled", "", "tool.denied"}}) {
    AguiClient stream = agui_stream(user.client.post(agui_route, says));
    ASSERT_EQ(stream.outcome(), "interrupt");
    EXPECT_EQ(stream.interrupt().text_or("toolCallId"), stream.calls.at(0));
    std::string id(stream.interrupt().text_or("id"));
    for (const char* payload : {R"({"approved":"yes"})", R"({"approved":true,"argument":{}})"}) {
      Answer wrong = user.client.post(agui_route, agui_resumes("c", id, "resolved", payload));
      EXPECT_TRUE(has_fault(wrong, "resume.0.payload", "bad_format")) << payload;
    }
    Answer resumed = user.client.post(agui_route, agui_resumes("c", id, each.status, each.payload));
    stream.read(agui_frames(resumed));
    EXPECT_EQ(stream.text(), "after");
    RunStory story = story_of(user.client, resumed.header("x-hostler-run"));
    EXPECT_EQ(story.outcomes(), std::vector<std::string>{each.code});
    Answer late = user.client.post(agui_route, agui_resumes("c", id, each.status, each.payload));
    EXPECT_TRUE(is_problem(late, 409, "runs.not_waiting"));
  }
}

TEST(AguiRun, ResumesAQuestionOrAbandonsIt) {
  TestUser user = register_user(stack());
  auto asked = [&] {
    return agui_stream(user.client.post(agui_route, agui_says("c", "[ask which?] [say ok]")));
  };
  AguiClient stream = asked();
  std::string id(stream.interrupt().text_or("id"));
  EXPECT_TRUE(has_fault(
      user.client.post(agui_route, agui_resumes("c", id, "resolved", R"({"approved":true})")),
      "resume.0.payload", "wrong_type"));
  Answer answer = user.client.post(agui_route, agui_resumes("c", id, "resolved", R"("that one")"));
  stream.read(agui_frames(answer));
  EXPECT_EQ(stream.text(), "ok");
  EXPECT_EQ(stream.results.begin()->second, R"({"answer":"that one"})");

  AguiClient abandoned = asked();
  std::string second(abandoned.interrupt().text_or("id"));
  abandoned.read(agui_frames(user.client.post(agui_route, agui_resumes("c", second, "cancelled"))));
  EXPECT_EQ(abandoned.outcome(), "cancelled");

  std::string third(asked().interrupt().text_or("id"));
  Answer instead = user.client.post(
      agui_route,
      agui_resumes("c", third, "cancelled", "", R"({"role":"user","content":"[say instead]"})"));
  EXPECT_EQ(agui_stream(instead).text(), "instead");
}

TEST(AguiRun, IsInterruptedByTheNextMessage) {
  TestUser user = register_user(stack());
  std::string thread_id = make_thread(user.client);
  std::string path = "/v1/threads/" + thread_id;
  user.client.post(path + "/messages", R"({"content":"[say a] [pause 20000]"})");
  std::string active = user.client.post(path + "/runs", "{}").member("run_id");
  Answer answer = user.client.post(agui_route, agui_says(thread_id, "[say b]"));
  EXPECT_EQ(agui_stream(answer).text(), "b");
  EXPECT_EQ(wait_for_status(user.client, active, "cancelled"), "cancelled");
}

TEST(AguiRun, HoldsBackWhatAFormatIsToCheck) {
  TestUser user = register_user(stack());
  std::string body = R"({"persona_key":"json","version":"1","display_name":"J","system_prompt":"",)"
                     R"("tools":["ask_user"],"response_format":{"type":"json_schema","name":"n",)"
                     R"("schema":{"type":"object","required":["x"]}}})";
  Answer made = user.client.post("/v1/personas?scope=org", body);
  ASSERT_EQ(made.status, 201) << made.body;
  auto says = [&](std::string_view script) {
    return user.client.post(
        agui_route,
        fmt::format(R"({{"threadId":"c","runId":"r1","messages":[{{"role":"user","content":{}}}],)"
                    R"("forwardedProps":{{"persona_id":"json@1"}}}})",
                    json_quote(script)));
  };
  AguiClient stream = agui_stream(says(R"([answer no] [answer {"x":1}])"));
  EXPECT_EQ(stream.text(), R"({"x":1})");
  EXPECT_EQ(stream.last.find("result")->dump(), R"({"x":1})");
  AguiClient asked = agui_stream(says(R"([ask which?] [answer no] [answer {"x":2}])"));
  std::string id(asked.interrupt().text_or("id"));
  Answer resumed = user.client.post(agui_route, agui_resumes("c", id, "resolved", R"("a")"));
  asked.read(agui_frames(resumed));
  EXPECT_EQ(asked.text(), R"({"x":2})");
}

TEST(AguiRun, TellsARunThatFails) {
  TestUser user = register_user(stack());
  AguiClient stream = agui_stream(user.client.post(agui_route, agui_says("c", "[status 400]")));
  EXPECT_EQ(stream.last.text_or("type"), "RUN_ERROR");
  EXPECT_EQ(stream.last.text_or("code"), "model.rejected");
}

TEST(AguiRun, IsRepeatedUnderItsKey) {
  TestUser user = register_user(stack());
  Call call{"POST",
            agui_route,
            agui_says("c", "[think hm] [say once]"),
            "application/json",
            {{"Idempotency-Key", "agui-1"}}};
  Answer first = user.client.send(call);
  Answer second = user.client.send(call);
  EXPECT_EQ(agui_frames(first), agui_frames(second));
  EXPECT_EQ(first.header("x-hostler-run"), second.header("x-hostler-run"));
  EXPECT_EQ(second.header("idempotency-replayed"), "true");
  call.body = agui_says("c", "[say twice]");
  EXPECT_TRUE(is_problem(user.client.send(call), 422, "idempotency.key_reused"));
}

TEST(AguiRun, IsOfOneThreadAndAnsweredOnceHoweverManyAsk) {
  TestUser user = register_user(stack());
  std::vector<Call> first(6,
                          {"POST", agui_route, agui_says("c", "[say a]"), "application/json", {}});
  std::set<std::string> threads;
  std::set<std::string> runs;
  for (const Answer& answer : user.client.send_all(first)) {
    AguiClient stream = agui_stream(answer);
    EXPECT_TRUE(stream.outcome() == "success" || stream.outcome() == "cancelled");
    threads.insert(thread_of(user.client, answer));
    runs.insert(answer.header("x-hostler-run"));
  }
  EXPECT_EQ(threads.size(), 1U);
  EXPECT_EQ(runs.size(), 6U);
  AguiClient asked =
      agui_stream(user.client.post(agui_route, agui_says("c", "[ask which?] [say ok]")));
  std::string body = agui_resumes("c", asked.interrupt().text_or("id"), "resolved", R"("a")");
  int answered = 0;
  for (const Answer& answer : user.client.send_all(
           std::vector<Call>(6, {"POST", agui_route, body, "application/json", {}}))) {
    bool is_first = answer.status == 200;
    if (is_first) ++answered;
    EXPECT_TRUE(is_first || is_problem(answer, 409, "runs.not_waiting"));
  }
  EXPECT_EQ(answered, 1);
}

// A name is its creator's: another's thread of that name, or id, is another thread.
TEST(AguiRun, KeepsThreadsOfOneNameApart) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  Answer mine = user.client.post(agui_route, agui_says("shared", "[ask mine?]"));
  AguiClient asked = agui_stream(mine);
  std::string thread_id = thread_of(user.client, mine);
  std::string id(asked.interrupt().text_or("id"));
  for (const std::string& name : {std::string("shared"), thread_id}) {
    EXPECT_TRUE(
        is_problem(other.client.post(agui_route, agui_resumes(name, id, "resolved", R"("theirs")")),
                   409, "runs.not_waiting"));
    Answer theirs = other.client.post(agui_route, agui_says(name, "[say theirs]"));
    EXPECT_EQ(agui_stream(theirs).text(), "theirs");
    EXPECT_NE(thread_of(other.client, theirs), thread_id);
  }
  EXPECT_EQ(messages_of(user.client, thread_id), "user: [ask mine?]\n");
}

}  // namespace
}  // namespace hostler::testing_support
