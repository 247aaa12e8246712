// Chats in OpenAI's form whose callers have tools of their own, beside a persona's webhook tool,
// with the real daemon: with which calls a run ends, what the request that answers them sends its
// model, who else may, and that nothing of it is lost or doubled when a daemon is killed.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "queries/access.h"
#include "queries/chat_runs.h"
#include "queries/runs.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/model_route.h"
#include "tests/support/rigs/webhook_harness.h"
#include "tests/support/rows/run_faults.h"

namespace hostler::testing_support {
namespace {

constexpr const char* chats = "/v1/openai/chat/completions";
constexpr std::string_view tools =
    R"([{"type":"function","function":{"name":"parcel","description":"Where it is.",)"
    R"("parameters":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}}])";

// A user whose persona "tooled" names a webhook tool that answers at once, and a model of its own.
struct Tooled {
  TestUser user;
  ModelRoute route;
  std::string path;  // of the receiver
};

Tooled make_tooled(std::string_view form, const std::string& answer = "json/%7B%22sent%22%3A1%7D") {
  static const TestUser admin = register_admin(webhook_stack());
  Tooled made{register_user(webhook_stack()), make_route(webhook_stack(), admin, form),
              fmt::format("/{}/{}", answer, new_name())};
  Answer tool = made.user.client.post(
      "/v1/tools?scope=org",
      fmt::format(R"({{"name":"find_order","description":"d","parameters":{{"type":"object"}},)"
                  R"("url":"{}"}})",
                  receiver().url(made.path)));
  EXPECT_EQ(tool.status, 201) << tool.body;
  Answer persona = made.user.client.post(
      "/v1/personas?scope=org",
      fmt::format(R"({{"persona_key":"tooled","version":"1","model":"{}",)"
                  R"("tools":["find_order","ask_user"],"confirm_tools":["web_fetch"]}})",
                  made.route.model));
  EXPECT_EQ(persona.status, 201) << persona.body;
  return made;
}

std::string body_of(const std::string& messages, std::string_view further = "") {
  return fmt::format(R"({{"model":"tooled@1","messages":[{}],"tools":{}{}}})", messages, tools,
                     further);
}
std::string user_says(std::string_view script) {
  return fmt::format(R"({{"role":"user","content":{}}})", json_quote(script));
}

// Created like by the pool for its caller, who does not wait.
std::string begin(const Tooled& tooled, std::string_view script) {
  postgres::DbSession session = webhook_stack().database().as_api();
  session.begin();
  session.run(query::SetRequestContext{
      .org_id = tooled.user.org_id,
      .user_id = tooled.user.id,
      .context =
          R"({"trace_id":"0123456789abcdef0123456789abcdef","permissions":["data.runs.read"]})"});
  postgres::Result made = session.run(query::ChatRunCreate{
      .persona_id = "tooled@1",
      .route_id = std::nullopt,
      .history = fmt::format("[{}]", user_says(script)),
      .sampling = std::nullopt,
      .end_user = std::nullopt,
      .metadata = "{}",
      .keeps = true,
      .limit_concurrent_runs = 100,
      .limit_concurrent_runs_per_user = 0,
      .limit_stored_bytes = 0,
      .credit_run_hold = 10,
      .response_format = std::nullopt,
      .tools = R"([{"type":"function","name":"parcel","description":"","parameters":)"
               R"({"type":"object"}}])",
      .answered_calls = std::vector<std::string>(),
      .missing_calls = std::vector<std::string>()});
  std::string run_id(parse_json_or_nothing(made.text())->text_or("run_id"));
  session.commit();
  session.run(query::RunNotify{});
  return run_id;
}

const Json& choice_of(const Json& answer) { return answer.find("choices")->as_array()->at(0); }
const Json& message_of(const Json& answer) { return *choice_of(answer).find("message"); }

// The message of an answer that ends with calls, and a result for each of them.
std::string answered(const Json& message) {
  std::string text = message.dump();
  for (const Json& call : *message.find("tool_calls")->as_array()) {
    text += fmt::format(R"(,{{"role":"tool","tool_call_id":"{}","content":"at the harbour"}})",
                        call.text_or("id"));
  }
  return text;
}

std::string last_sent(const Tooled& tooled) {
  std::vector<std::string> bodies = requests_for(webhook_stack(), tooled.route.model);
  return bodies.empty() ? "nothing" : bodies.back();
}
std::string messages_in(const std::string& body) {
  std::optional<Json> parsed = parse_json_or_nothing(body);
  return parsed ? parsed->find("messages")->dump() : "none";
}

std::string of_run(const std::string& run_id, const std::string& what) {
  return sql_value(webhook_stack(), fmt::format("SELECT coalesce(string_agg({}, ' ' ORDER BY seq), "
                                                "'') FROM run_events WHERE run_id = '{}'",
                                                what, run_id));
}

// With a turn of its own calls alone, one with calls of both, and words.
constexpr std::string_view script =
    R"([say First. ][tool find_order {"n":1}][say Then. ])"
    R"([tools find_order {"n":2} | parcel {"n":7} | parcel {"n":8}][say done])";

class LeftCallsByForm : public testing::TestWithParam<const char*> {};

TEST_P(LeftCallsByForm, StandWithAllOfTheirRunInTheRequestThatAnswersThem) {
  // Tests of webhooks leave messages in this stack that nobody took.
  std::string faults_before = run_faults(webhook_stack());
  Tooled tooled = make_tooled(GetParam());
  Answer first = tooled.user.client.post(chats, body_of(user_says(script)));
  ASSERT_EQ(first.status, 200) << first.body;
  Json answer = first.json();
  EXPECT_EQ(choice_of(answer).text_or("finish_reason"), "tool_calls");
  EXPECT_EQ(message_of(answer).text_or("content"), "First.\n\nThen.");
  ASSERT_EQ(message_of(answer).find("tool_calls")->as_array()->size(), 2u) << first.body;
  EXPECT_EQ(received_at(tooled.path).size(), 2u);
  std::string sent_first = messages_in(last_sent(tooled));

  std::string history = user_says(script) + "," + answered(message_of(answer));
  Answer second = tooled.user.client.post(chats, body_of(history));
  ASSERT_EQ(second.status, 200) << second.body;
  EXPECT_EQ(message_of(second.json()).text_or("content"), "done");
  EXPECT_EQ(received_at(tooled.path).size(), 2u) << "nothing is called twice";
  std::string sent = messages_in(last_sent(tooled));
  if (GetParam() == std::string_view("openai")) {
    // The first run's request, and after it the new messages.
    EXPECT_TRUE(sent.starts_with(sent_first.substr(0, sent_first.size() - 1))) << sent;
  }
  size_t at = sent.find("Then.");
  for (std::string_view part :
       {"find_order", "parcel", "parcel", R"({\"sent\":1})", "at the harbour", "at the harbour"}) {
    at = sent.find(part, at + 1);
    EXPECT_NE(at, sent.npos) << part << " in " << sent;
  }

  // A third request has both in its history, which begins as before.
  std::string further =
      history + R"(,{"role":"assistant","content":"done"},)" + user_says("[say again]");
  EXPECT_EQ(message_of(tooled.user.client.post(chats, body_of(further)).json()).text_or("content"),
            "again");
  if (GetParam() == std::string_view("openai")) {
    EXPECT_TRUE(messages_in(last_sent(tooled)).starts_with(sent.substr(0, sent.size() - 1)));
  }
  EXPECT_EQ(run_faults(webhook_stack()), faults_before);
  EXPECT_EQ(money_faults(webhook_stack()), "");
}

INSTANTIATE_TEST_SUITE_P(Providers, LeftCallsByForm, testing::Values("openai", "anthropic"),
                         [](const auto& param) { return std::string(param.param); });

TEST(LeftCalls, AreOneEventBeforeTheEnd) {
  Tooled tooled = make_tooled("openai");
  Answer answer = tooled.user.client.post(chats, body_of(user_says(script)));
  std::string run_id = answer.header("x-hostler-run");
  EXPECT_EQ(of_run(run_id, "type"),
            "run.started message.delta tool.call tool.result message.delta message.delta "
            "tool.call tool.call tool.call tool.result run.tool_calls run.completed");
  RunStory story = story_of(tooled.user.client, run_id);
  const Json data = story.only("run.tool_calls");
  const Json::Array& calls = *data.find("calls")->as_array();
  ASSERT_EQ(calls.size(), 2u);
  std::vector<Json> made = story.all("tool.call");
  EXPECT_EQ(calls[0].dump(), made[2].dump());
  EXPECT_EQ(calls[1].dump(), made[3].dump());
  EXPECT_EQ(calls[1].find("arguments")->dump(), R"({"n":8})");
  EXPECT_EQ(story.status, "completed");
}

TEST(LeftCalls, AreNoneThatTheModelIsToMakeAgain) {
  Tooled tooled = make_tooled("openai");
  Answer answer = tooled.user.client.post(
      chats, body_of(user_says(R"([tool parcel {"n":"seven"}][tool parcel {"n":7}])")));
  RunStory story = story_of(tooled.user.client, answer.header("x-hostler-run"));
  EXPECT_EQ(story.outcomes(), (std::vector<std::string>{"tool.args_invalid"}));
  EXPECT_EQ(story.only("run.tool_calls").find("calls")->as_array()->size(), 1u);
  // Beside one that fits, one that does not reaches the model with the next request.
  answer = tooled.user.client.post(
      chats, body_of(user_says(R"([tools parcel {} | parcel {"n":7}][say done])")));
  Json body = answer.json();
  ASSERT_EQ(message_of(body).find("tool_calls")->as_array()->size(), 1u) << answer.body;
  tooled.user.client.post(chats,
                          body_of(user_says(R"([say on])") + "," + answered(message_of(body))));
  EXPECT_NE(last_sent(tooled).find("tool.args_invalid"), std::string::npos);
}

TEST(LeftCalls, AskNobody) {
  Tooled tooled = make_tooled("openai");
  tooled.user.client.post(
      "/v1/personas?scope=org",
      fmt::format(R"({{"persona_key":"tooled","version":"2","model":"{}","tools":["find_order",)"
                  R"("ask_user"],"confirm_tools":["find_order"]}})",
                  tooled.route.model));
  std::string body = body_of(user_says(R"([ask Why?][tools find_order {} | parcel {"n":7}])"));
  body.replace(body.find("tooled@1"), 8, "tooled@2");
  Answer answer = tooled.user.client.post(chats, body);
  ASSERT_EQ(answer.status, 200) << answer.body;
  RunStory story = story_of(tooled.user.client, answer.header("x-hostler-run"));
  EXPECT_EQ(story.outcomes(), (std::vector<std::string>{"tool.unknown", "tool.denied"}));
  EXPECT_NE(story.text().find("cannot ask anybody"), std::string::npos);
  EXPECT_EQ(last_sent(tooled).find(R"("name":"ask_user","description")"), std::string::npos);
  EXPECT_EQ(received_at(tooled.path).size(), 0u);
  EXPECT_EQ(choice_of(answer.json()).text_or("finish_reason"), "tool_calls");
}

// Each call of a message in one of its own, with its result after it.
std::vector<std::string> taken_apart(const Json& message) {
  std::vector<std::string> parts;
  for (const Json& call : *message.find("tool_calls")->as_array()) {
    parts.push_back(fmt::format(R"({{"role":"assistant","tool_calls":[{}]}},{{"role":"tool",)"
                                R"("tool_call_id":"{}","content":"at the harbour"}})",
                                call.dump(), call.text_or("id")));
  }
  return parts;
}
// The same as items of a response.
std::vector<std::string> items_of(const Json& message) {
  std::vector<std::string> parts;
  for (const Json& call : *message.find("tool_calls")->as_array()) {
    const Json& function = *call.find("function");
    parts.push_back(fmt::format(
        R"({{"type":"function_call","call_id":"{0}","name":"{1}","arguments":{2}}},)"
        R"({{"type":"function_call_output","call_id":"{0}","output":"at the harbour"}})",
        call.text_or("id"), function.text_or("name"), json_quote(function.text_or("arguments"))));
  }
  return parts;
}
Answer respond_to(const Tooled& tooled, const std::string& items) {
  return tooled.user.client.post(std::string("/v1/openai/responses"),
                                 fmt::format(R"({{"model":"tooled@1","input":[{}]}})", items));
}

// A client that keeps its history itself may lose a part of a turn, or order it again.
TEST(LeftCalls, AreAnsweredAllOrNoneWhereverTheyStand) {
  Tooled tooled = make_tooled("openai");
  Json first = tooled.user.client.post(chats, body_of(user_says(script))).json();
  std::vector<std::string> parts = taken_apart(message_of(first));
  std::vector<std::string> items = items_of(message_of(first));
  ASSERT_EQ(parts.size(), 2u);
  std::string says = user_says("[say done]");
  size_t asked = requests_for(webhook_stack(), tooled.route.model).size();
  for (const Answer& answer : {tooled.user.client.post(chats, body_of(says + "," + parts[1])),
                               respond_to(tooled, says + "," + items[1])}) {
    EXPECT_EQ(answer.status, 400) << answer.body;
    EXPECT_NE(answer.body.find("the output of the call "), std::string::npos) << answer.body;
  }
  EXPECT_EQ(requests_for(webhook_stack(), tooled.route.model).size(), asked);

  std::string wait = "," + user_says("[say on]") + ",";
  for (bool is_chat : {true, false}) {
    Answer answer =
        is_chat ? tooled.user.client.post(chats, body_of(says + "," + parts[0] + wait + parts[1]))
                : respond_to(tooled, says + "," + items[0] + wait + items[1]);
    EXPECT_EQ(answer.status, 200) << answer.body;
    std::string sent = messages_in(last_sent(tooled));
    EXPECT_EQ(sent.find("tool.timeout"), sent.npos) << sent;
    for (const Json& call : *message_of(first).find("tool_calls")->as_array()) {
      std::string made = fmt::format(R"("id":"{}")", call.text_or("id"));
      size_t at = sent.find(made);
      ASSERT_NE(at, sent.npos) << sent;
      EXPECT_EQ(sent.find(made, at + 1), sent.npos) << "told twice: " << sent;
    }
  }
}

// The only thing that such a run waits for.
TEST(LeftCalls, ComeBehindAResultByToken) {
  Tooled tooled = make_tooled("openai", "status/202");
  std::string run_id = begin(tooled, R"([tools find_order {} | parcel {"n":7}])");
  ASSERT_EQ(wait_for_status(tooled.user.client, run_id, "waiting_for_input"), "waiting_for_input");
  std::vector<Json> records = received_at(tooled.path);
  ASSERT_EQ(records.size(), 1u);
  Json message = parse_json_or_nothing(records[0].text_or("body")).value_or(Json());
  const Json& data = *message.find("data");
  EXPECT_EQ(data.text_or("run_id"), run_id);
  Answer given = webhook_stack().client().send(
      {"POST",
       fmt::format("/v1/runs/{}/tool-results", run_id),
       fmt::format(R"({{"results":[{{"tool_call_id":"{}","output":1}}]}})",
                   data.text_or("tool_call_id")),
       "application/json",
       {{"Authorization", fmt::format("Bearer {}", data.text_or("result_token"))}}});
  EXPECT_EQ(given.status, 200) << given.body;
  ASSERT_EQ(wait_for_status(tooled.user.client, run_id, "completed"), "completed");
  RunStory story = story_of(tooled.user.client, run_id);
  EXPECT_EQ(story.outcomes(), std::vector<std::string>{"ok"});
  EXPECT_EQ(story.only("run.tool_calls").find("calls")->as_array()->size(), 1u);
  EXPECT_EQ(run_faults(webhook_stack()), "");
}

// Another user, the same one in another organization, and ids that are nobody's.
TEST(LeftCalls, AreTheirCallersAlone) {
  Tooled tooled = make_tooled("openai");
  Answer first = tooled.user.client.post(chats, body_of(user_says(script)));
  ASSERT_EQ(first.status, 200) << first.body;
  std::string messages = user_says("[say seen]") + "," + answered(message_of(first.json()));
  std::string body = fmt::format(R"({{"model":"route:{}","messages":[{}],"tools":{}}})",
                                 tooled.route.route_id, messages, tools);
  TestUser other = register_user(webhook_stack());
  add_member(webhook_stack(), tooled.user.org_id, other, "admin");
  std::string workspace = make_workspace(webhook_stack(), tooled.user);
  auto asked = [&](const TestUser& user, const std::string& org_id) {
    Answer answer =
        user.client.send({"POST", chats, body, "application/json", {{"X-Org-Id", org_id}}});
    EXPECT_EQ(answer.status, 200) << answer.body;
    return last_sent(tooled);
  };
  EXPECT_EQ(asked(other, tooled.user.org_id).find("find_order"), std::string::npos);
  EXPECT_EQ(asked(tooled.user, workspace).find("find_order"), std::string::npos);
  EXPECT_NE(asked(tooled.user, tooled.user.org_id).find("find_order"), std::string::npos);
  // By any key of the user.
  Client key = webhook_stack().client().with_token(
      make_api_key(webhook_stack(), tooled.user, tooled.user.org_id));
  EXPECT_EQ(key.post(chats, body).status, 200);
  EXPECT_NE(last_sent(tooled).find("find_order"), std::string::npos);
}

// A daemon dies before, in and behind the turns of a run, and beside its end.
TEST(LeftCalls, AreLeftOnceWhateverDies) {
  Tooled tooled = make_tooled("openai");
  for (const char* moment : {"type = 'run.started'", "type = 'tool.call'", "type = 'tool.result'",
                             "type = 'tool.call' AND seq > 6", "type = 'tool.result' AND seq > 6",
                             "type = 'run.tool_calls'"}) {
    SCOPED_TRACE(moment);
    std::string run_id = begin(tooled, "[delay 40]" + std::string(script));
    ASSERT_TRUE(eventually(15'000, [&] {
      return sql_number(webhook_stack(),
                        fmt::format("SELECT count(*) FROM run_events WHERE run_id = '{}' AND {}",
                                    run_id, moment)) > 0;
    }));
    webhook_stack().kill_runner();
    webhook_stack().start_runner();
    ASSERT_EQ(wait_for_status(tooled.user.client, run_id, "completed"), "completed");
    EXPECT_EQ(of_run(run_id, "CASE WHEN type IN ('run.tool_calls', 'run.completed') THEN type END"),
              "run.tool_calls run.completed");
    EXPECT_EQ(sql_value(webhook_stack(), fmt::format("SELECT count(*) FROM run_left_calls WHERE "
                                                     "run_id = '{}'",
                                                     run_id)),
              "2");
    EXPECT_EQ(of_run(run_id, "CASE type WHEN 'tool.result' THEN type END"),
              "tool.result tool.result");
  }
  EXPECT_EQ(run_faults(webhook_stack()), "");
  // The check sees what it is for.
  sql_value(webhook_stack(),
            "INSERT INTO run_left_calls (run_id, tool_call_id, org_id, created_by_user_id) SELECT "
            "run_id, 'extra', org_id, created_by_user_id FROM run_left_calls LIMIT 1 RETURNING 1");
  EXPECT_NE(run_faults(webhook_stack()).find("left is not what was told"), std::string::npos);
  sql_value(webhook_stack(), "DELETE FROM run_left_calls WHERE tool_call_id = 'extra' RETURNING 1");
  EXPECT_EQ(money_faults(webhook_stack()), "");
}

}  // namespace
}  // namespace hostler::testing_support
