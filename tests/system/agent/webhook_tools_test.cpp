// Webhook tools with the real daemon and a real server with TLS: what is sent, what each answer
// means, who may answer later, and that nothing is called twice which must not be.
#include <gtest/gtest.h>

#include <set>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/webhook_harness.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

// A user whose persona "tooled" names one webhook tool, at this path of the receiver.
struct Tooled {
  TestUser user;
  std::string tool_id;
  std::string secret;
  std::string path;

  std::string run(std::string_view script) const {
    return start_output(user.client, script, R"({"persona_id":"tooled@1"})");
  }
};

Tooled make_tooled(const std::string& path, std::string_view further = "",
                   const std::string& url = "") {
  Tooled made{register_user(webhook_stack()), {}, {}, path};
  Answer tool = made.user.client.post(
      "/v1/tools?scope=org",
      fmt::format(R"({{"name":"find_order","description":"d","parameters":{{"type":"object",)"
                  R"("properties":{{"n":{{"type":"integer"}}}},"required":["n"]}},)"
                  R"("url":"{}"{}}})",
                  url.empty() ? receiver().url(path) : url, further));
  EXPECT_EQ(tool.status, 201) << tool.body;
  made.tool_id = tool.member("id");
  made.secret = tool.member("signing_secret");
  Answer persona = made.user.client.post(
      "/v1/personas?scope=org",
      R"({"persona_key":"tooled","version":"1","tools":["find_order","web_search"]})");
  EXPECT_EQ(persona.status, 201) << persona.body;
  return made;
}

constexpr const char* one_call = R"([tool find_order {"n":12345678901234567890}] [say thanks])";

// The code of the run's only tool.result; empty: it succeeded.
std::string code_of(const RunStory& story) {
  const Json result = story.only("tool.result");
  const Json* error = result.find("error");
  return error == nullptr ? "" : std::string(error->text_or("code"));
}

RunStory ended(const Tooled& tooled, const std::string& run_id) {
  EXPECT_EQ(wait_for_status(tooled.user.client, run_id, "completed"), "completed");
  return story_of(tooled.user.client, run_id);
}

std::string path_of(std::string_view what) {
  static int number = 0;
  return fmt::format("/{}/t{}", what, ++number);
}

Json sent(const Json& record) {
  return parse_json_or_nothing(record.text_or("body")).value_or(Json());
}

Answer answer_by_token(const std::string& run_id, const std::string& token,
                       const std::string& body) {
  return webhook_stack().client().send({"POST",
                                        fmt::format("/v1/runs/{}/tool-results", run_id),
                                        body,
                                        "application/json",
                                        {{"Authorization", "Bearer " + token}}});
}

std::string result_body(std::string_view call, std::string_view output = "1") {
  return fmt::format(R"({{"results":[{{"tool_call_id":"{}","output":{}}}]}})", call, output);
}

TEST(WebhookTools, AreCalledWithASignedMessage) {
  Tooled tooled = make_tooled(path_of(R"(json/%7B%22state%22%3A%22sent%22%7D)"));
  std::string run_id = tooled.run(one_call);
  RunStory story = ended(tooled, run_id);
  EXPECT_EQ(story.only("tool.result").find("result")->dump(), R"({"state":"sent"})");
  std::vector<Json> records = received_at(tooled.path);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(field(records[0], "webhook-signature"),
            signature_by_openssl(tooled.secret, records[0]));
  Json message = sent(records[0]);
  EXPECT_EQ(message.text_or("type"), "tool.call");
  const Json& data = *message.find("data");
  EXPECT_EQ(data.text_or("run_id"), run_id);
  EXPECT_EQ(data.text_or("org_id"), tooled.user.org_id);
  EXPECT_EQ(data.text_or("tool_name"), "find_order");
  EXPECT_EQ(data.find("arguments")->dump(), R"({"n":12345678901234567890})");
  EXPECT_TRUE(data.find("end_user")->is_null());
  EXPECT_EQ(data.find("metadata")->dump(), "{}");
  EXPECT_EQ(data.text_or("tool_call_id"), story.only("tool.call").text_or("tool_call_id"));
  // Its call has its result.
  EXPECT_TRUE(is_problem(answer_by_token(run_id, std::string(data.text_or("result_token")),
                                         result_body(data.text_or("tool_call_id"))),
                         409, "runs.tool_result_exists"));
  EXPECT_EQ(run_faults(webhook_stack()), "");
  EXPECT_EQ(money_faults(webhook_stack()), "");
}

TEST(WebhookTools, AreGenuineToThePublishedVerifier) {
  const std::string folder = verifier_folder();
  if (folder.empty()) {
    GTEST_SKIP() << "NOT CHECKED: node, npm or the package standardwebhooks cannot be had here";
  }
  Tooled tooled = make_tooled(path_of("json/1"));
  std::string second =
      tooled.user.client.post(fmt::format("/v1/tools/{}/rotate-secret?scope=org", tooled.tool_id))
          .member("signing_secret");
  ended(tooled, tooled.run(one_call));
  std::vector<Json> records = received_at(tooled.path);
  ASSERT_EQ(records.size(), 1u);
  std::string body(records[0].text_or("body"));
  // The one before the rotation signs too.
  EXPECT_EQ(verified(folder, tooled.secret, records[0], body), "verified tool.call\n");
  EXPECT_EQ(verified(folder, second, records[0], body), "verified tool.call\n");
  EXPECT_EQ(verified(folder, second, records[0], body + " "),
            "refused: No matching signature found\n");
}

TEST(WebhookTools, TellTheModelWhatEachAnswerMeans) {
  struct Case {
    std::string path;
    std::string code;
    size_t calls;
    std::string further;
  };
  for (const Case& wanted :
       {Case{"ok", "", 1, ""}, Case{"status/404", "tool.failed", 1, ""},
        Case{"redirect", "tool.failed", 1, ""}, Case{"big/1048577", "tool.bad_answer", 1, ""},
        Case{"big/1048576", "", 1, ""}, Case{"status/500", "tool.outcome_unknown", 1, ""},
        Case{"reset", "tool.outcome_unknown", 1, ""},
        Case{"hang", "tool.outcome_unknown", 1, R"(,"timeout_seconds":1)"},
        Case{"hang", "tool.timeout", 3, R"(,"timeout_seconds":1,"is_repeatable":true)"},
        Case{"trickle", "tool.outcome_unknown", 1, R"(,"timeout_seconds":1)"},
        Case{"headers", "tool.bad_answer", 1, ""}, Case{"flood", "tool.outcome_unknown", 1, ""},
        Case{"status/503", "tool.failed", 3, R"(,"is_repeatable":true)"},
        Case{"busy/1/1", "", 2, R"(,"is_repeatable":true)"}}) {
    SCOPED_TRACE(wanted.path + wanted.further);
    Tooled tooled = make_tooled(path_of(wanted.path), wanted.further);
    RunStory story = ended(tooled, tooled.run(one_call));
    EXPECT_EQ(code_of(story), wanted.code);
    std::vector<Json> records = received_at(tooled.path);
    EXPECT_EQ(records.size(), wanted.calls);
    std::set<std::string> ids;
    std::set<std::string> bodies;
    for (const Json& record : records) {
      ids.insert(field(record, "webhook-id"));
      bodies.insert(std::string(record.text_or("body")));
    }
    EXPECT_EQ(ids.size(), 1u);
    EXPECT_EQ(bodies.size(), 1u);
  }
}

TEST(WebhookTools, ThatNobodyReachesAreTriedThrice) {
  Tooled tooled = make_tooled("", "", "https://127.0.0.1:1/");
  EXPECT_EQ(code_of(ended(tooled, tooled.run(one_call))), "tool.unreachable");
}

// Its name leads elsewhere by now, or it was stored before the address was refused.
TEST(WebhookTools, AreDialledAtNoRefusedAddressInNoScope) {
  Tooled tooled = make_tooled(path_of("json/1"));
  TestUser admin = register_admin(webhook_stack());
  std::string name = "p" + to_hex(random_bytes(6));
  Answer of_platform = admin.client.post(
      "/v1/tools",
      fmt::format(R"({{"name":"{}","description":"d","parameters":{{"type":"object"}},)"
                  R"("url":"{}"}})",
                  name, receiver().url(tooled.path)));
  ASSERT_EQ(of_platform.status, 201) << of_platform.body;
  Answer persona = tooled.user.client.post(
      "/v1/personas?scope=org",
      fmt::format(R"({{"persona_key":"other","version":"1","tools":["{}"]}})", name));
  ASSERT_EQ(persona.status, 201) << persona.body;
  webhook_stack().sql().run_text(
      fmt::format("UPDATE tools SET url = 'https://10.0.0.1/' WHERE id IN ('{}', '{}')",
                  tooled.tool_id, of_platform.member("id")));
  RunStory own = ended(tooled, tooled.run(one_call));
  EXPECT_EQ(code_of(own), "tool.url_denied");
  RunStory theirs =
      ended(tooled, start_output(tooled.user.client, fmt::format("[tool {} {{}}] [say so]", name),
                                 R"({"persona_id":"other@1"})"));
  EXPECT_EQ(code_of(theirs), "tool.url_denied");
  EXPECT_TRUE(received_at(tooled.path).empty());
}

TEST(WebhookTools, AskNobodyForArgumentsThatDoNotFit) {
  Tooled tooled = make_tooled(path_of("json/1"));
  RunStory story = ended(tooled, tooled.run(R"([tool find_order {"n":"x"}] [say sorry])"));
  EXPECT_EQ(code_of(story), "tool.args_invalid");
  EXPECT_TRUE(received_at(tooled.path).empty());
}

TEST(WebhookTools, ThatWereDeletedAreCalledNoMore) {
  Tooled tooled = make_tooled(path_of("json/1"));
  EXPECT_EQ(tooled.user.client.del(fmt::format("/v1/tools/{}?scope=org", tooled.tool_id)).status,
            204);
  RunStory story = ended(tooled, tooled.run(one_call));
  EXPECT_EQ(code_of(story), "tool.unknown");
  EXPECT_TRUE(received_at(tooled.path).empty());
}

TEST(WebhookTools, MayAnswerLaterByToken) {
  Tooled tooled = make_tooled(path_of("accepted"));
  std::string run_id = tooled.run(one_call);
  ASSERT_EQ(wait_for_status(tooled.user.client, run_id, "waiting_for_input"), "waiting_for_input");
  Json request = story_of(tooled.user.client, run_id).only("run.waiting_for_input");
  EXPECT_EQ(request.text_or("kind"), "tool_results");
  const Json& asked = request.find("calls")->as_array()->front();
  EXPECT_EQ(asked.text_or("answered_by"), "webhook");
  std::string call(asked.text_or("tool_call_id"));
  Json message = sent(received_at(tooled.path).at(0));
  std::string token(message.find("data")->text_or("result_token"));
  // Its server alone answers, for this call alone, in the form of all results.
  Answer by_creator =
      tooled.user.client.post(fmt::format("/v1/runs/{}/tool-results", run_id), result_body(call));
  EXPECT_TRUE(is_problem(by_creator, 403, "policy.denied"));
  EXPECT_TRUE(is_problem(answer_by_token(run_id, token, result_body("abc123xyz")), 401,
                         "auth.invalid_token"));
  EXPECT_TRUE(
      is_problem(answer_by_token("0190a0a0-0000-7000-8000-000000000000", token, result_body(call)),
                 401, "auth.invalid_token"));
  EXPECT_TRUE(has_fault(answer_by_token(run_id, token, "{}"), "results", "required"));
  Answer given = answer_by_token(run_id, token, result_body(call, R"({"late":true})"));
  EXPECT_EQ(given.status, 200) << given.body;
  EXPECT_EQ(given.member("missing"), "[]");
  RunStory story = ended(tooled, run_id);
  EXPECT_EQ(story.only("tool.result").find("result")->dump(), R"({"late":true})");
  EXPECT_EQ(story.all("run.input_provided").size(), 1u);
  EXPECT_TRUE(is_problem(answer_by_token(run_id, token, result_body(call)), 409,
                         "runs.tool_result_exists"));
  EXPECT_EQ(received_at(tooled.path).size(), 1u);
  EXPECT_EQ(run_faults(webhook_stack()), "");
}

TEST(WebhookTools, AnswerByTokenWhileTheCallIsUnderWay) {
  Tooled tooled = make_tooled(path_of("hang"), R"(,"timeout_seconds":2)");
  std::string run_id = tooled.run(one_call);
  ASSERT_TRUE(eventually(20'000, [&] { return !received_at(tooled.path).empty(); }));
  Json message = sent(received_at(tooled.path).at(0));
  const Json& data = *message.find("data");
  Answer given = answer_by_token(run_id, std::string(data.text_or("result_token")),
                                 result_body(data.text_or("tool_call_id"), R"("early")"));
  EXPECT_EQ(given.status, 200) << given.body;
  RunStory story = ended(tooled, run_id);
  EXPECT_EQ(story.only("tool.result").find("result")->dump(), R"("early")");
}

TEST(WebhookTools, EndWithTheRun) {
  Tooled tooled = make_tooled(path_of("accepted"));
  std::string run_id = tooled.run(one_call);
  ASSERT_EQ(wait_for_status(tooled.user.client, run_id, "waiting_for_input"), "waiting_for_input");
  Json message = sent(received_at(tooled.path).at(0));
  const Json& data = *message.find("data");
  EXPECT_EQ(tooled.user.client.post(fmt::format("/v1/runs/{}:cancel", run_id)).status, 200);
  EXPECT_TRUE(is_problem(answer_by_token(run_id, std::string(data.text_or("result_token")),
                                         result_body(data.text_or("tool_call_id"))),
                         401, "auth.invalid_token"));
}

// A daemon that dies while the call is under way: what must not be repeated is not, what may be is,
// under the same id.
TEST(WebhookTools, OutliveTheirDaemon) {
  for (bool is_repeatable : {false, true}) {
    SCOPED_TRACE(is_repeatable);
    Tooled tooled = make_tooled(
        path_of("hang"), fmt::format(R"(,"timeout_seconds":3,"is_repeatable":{})", is_repeatable));
    std::string run_id = tooled.run(one_call);
    ASSERT_TRUE(eventually(20'000, [&] { return !received_at(tooled.path).empty(); }));
    webhook_stack().kill_runner();
    webhook_stack().start_runner();
    std::string status = "completed";
    EXPECT_TRUE(eventually(30'000, [&] {
      return tooled.user.client.get("/v1/runs/" + run_id).member("status") == status;
    }));
    std::vector<Json> records = received_at(tooled.path);
    EXPECT_EQ(records.size(), is_repeatable ? 3u : 1u);
    for (const Json& record : records) {
      EXPECT_EQ(field(record, "webhook-id"), field(records[0], "webhook-id"));
    }
    ASSERT_TRUE(eventually(15'000, [&] {
      return tooled.user.client.get("/v1/runs/" + run_id + "/events?follow=false").status == 200;
    }));
    EXPECT_EQ(code_of(story_of(tooled.user.client, run_id)),
              is_repeatable ? "tool.timeout" : "tool.outcome_unknown");
  }
  EXPECT_EQ(run_faults(webhook_stack()), "");
}

}  // namespace
}  // namespace hostler::testing_support
