// Tests what becomes of a response: shown, followed behind any event, gone on from, cancelled,
// deleted; its input listed. Most are of a stack without a runner, whose runs stay as the API makes
// them.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr const char* route = "/v1/openai/responses";

ApiStack& stack() { return ApiStack::shared(); }

std::string path_of(std::string_view id, std::string_view further = "") {
  return fmt::format("{}/{}{}", route, id, further);
}

std::string make_response(const Client& client, std::string_view input,
                          std::string_view further = "") {
  Answer answer = client.post(
      route, fmt::format(R"({{"model":"normal","input":{}{}}})", json_quote(input), further));
  EXPECT_EQ(answer.status, 200) << answer.body;
  return answer.status == 200 ? answer.member("id") : "";
}
std::string make_waiting(const Client& client, std::string_view further = "") {
  return make_response(client, "hello", fmt::format(R"(,"background":true{})", further));
}
std::string behind(const std::string& id) {
  return fmt::format(R"(,"previous_response_id":"{}")", id);
}
std::string run_of(const std::string& id) { return id.substr(5); }
std::string thread_of(const Client& client, const std::string& id) {
  return client.get("/v1/runs/" + run_of(id)).member("thread_id");
}

// GET /v1/openai/responses/{response}
TEST(ShowResponse, IsShownAsItIs) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string id = make_waiting(client, R"(,"metadata":{"a":"b"})");
  Answer queued = client.get(path_of(id));
  EXPECT_EQ(queued.member("status"), "queued");
  EXPECT_EQ(queued.member("output"), "[]");
  EXPECT_EQ(queued.member("metadata"), R"({"a":"b"})");
  claim_run(stack(), run_of(id));
  EXPECT_EQ(client.get(path_of(id)).member("status"), "in_progress");
  ASSERT_EQ(client.patch("/v1/runs/" + run_of(id), R"({"metadata":{"c":"d"}})").status, 200);
  EXPECT_EQ(client.get(path_of(id)).member("metadata"), R"({"c":"d"})");
}

TEST(ShowResponse, IsFollowedBehindAnyEvent) {
  TestUser user = register_user(runner_stack());
  std::string id = make_response(user.client, "[think hm][say one two]");
  Answer whole = user.client.get(path_of(id, "?stream=true"));
  ASSERT_EQ(whole.status, 200) << whole.body;
  size_t begin = whole.body.find("event: ");
  std::string frames = whole.body.substr(begin);
  EXPECT_EQ(user.client.get(path_of(id)).status, 200);
  size_t frames_seen = 0;
  for (size_t at = 0; (at = frames.find("\"sequence_number\":", at)) != frames.npos;
       ++frames_seen) {
    at += 18;
    std::string number = frames.substr(at, frames.find(',', at) - at);
    size_t rest = frames.find("\n\n", at) + 2;
    Answer later = user.client.get(path_of(id, "?stream=true&starting_after=" + number));
    EXPECT_TRUE(later.body.ends_with("\n\n" + frames.substr(rest))) << "behind " << number;
    EXPECT_EQ(later.body.find("event: "), frames.substr(rest).find("event: ") == 0
                                              ? later.body.size() - frames.size() + rest
                                              : later.body.npos);
  }
  EXPECT_GT(frames_seen, 12u);
  Answer past = user.client.get(path_of(id, "?stream=true&starting_after=9223372036854775807"));
  EXPECT_EQ(past.body.find("event: "), past.body.npos);
}

TEST(ShowResponse, RefusesWhatIsNone) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string id = make_waiting(client);
  for (const char* query : {"?stream=maybe", "?stream=true&starting_after=-1",
                            "?stream=true&starting_after=x", "?stream=true&stream=true"}) {
    EXPECT_TRUE(is_problem(client.get(path_of(id, query)), 400, "validation.error")) << query;
  }
  std::string native = start_run(client, conversation.thread_id);
  for (const std::string& none : {std::string("resp_x"), run_of(id), "resp_" + native,
                                  std::string("resp_01a1fa43-8dcd-7506-ab81-ef7a33b2be1a")}) {
    EXPECT_TRUE(is_problem(client.get(path_of(none)), 404, "runs.not_found")) << none;
    EXPECT_TRUE(is_problem(client.del(path_of(none)), 404, "runs.not_found")) << none;
    EXPECT_TRUE(is_problem(client.post(path_of(none, "/cancel")), 404, "runs.not_found"));
    EXPECT_TRUE(is_problem(client.get(path_of(none, "/input_items")), 404, "runs.not_found"));
  }
  EXPECT_TRUE(is_problem(stack().client().get(path_of(id)), 401, "auth.missing_token"));
}

TEST(ShowResponse, IsOfItsCreatorAndWhoMayReadAllRuns) {
  TestConversation conversation = make_conversation(stack());
  std::string id = make_waiting(conversation.user.client);
  TestUser other = register_user(stack());
  EXPECT_TRUE(is_problem(other.client.get(path_of(id)), 404, "runs.not_found"));
  add_member(stack(), conversation.user.org_id, other, "member");
  Client member = other.client.with_org(conversation.user.org_id);
  for (const char* further : {"", "/input_items"}) {
    EXPECT_TRUE(is_problem(member.get(path_of(id, further)), 403, "policy.denied")) << further;
  }
  EXPECT_TRUE(is_problem(member.del(path_of(id)), 403, "policy.denied"));
  EXPECT_TRUE(is_problem(member.post(path_of(id, "/cancel")), 403, "policy.denied"));
  TestUser leader = register_user(stack());
  add_member(stack(), conversation.user.org_id, leader, "admin");
  Client admin = leader.client.with_org(conversation.user.org_id);
  EXPECT_EQ(admin.get(path_of(id)).status, 200);
  EXPECT_TRUE(is_problem(admin.get(path_of(id, "/input_items")), 403, "policy.denied"));
  EXPECT_TRUE(is_problem(admin.del(path_of(id)), 403, "policy.denied"));
  std::string next = fmt::format(R"({{"model":"normal","input":"a"{}}})", behind(id));
  EXPECT_TRUE(is_problem(admin.post(route, next), 403, "policy.denied"));
}

TEST(CreateResponse, IsRefusedBesideARunOfItsThread) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string id = make_waiting(client);
  std::string thread_id = thread_of(client, id);
  for (const std::string& further :
       {behind(id), fmt::format(R"(,"conversation":"conv_{}")", thread_id)}) {
    Answer busy = client.post(route, fmt::format(R"({{"model":"normal","input":"a"{}}})", further));
    EXPECT_TRUE(is_problem(busy, 409, "runs.thread_busy")) << further;
    EXPECT_EQ(busy.header("x-should-retry"), "false");
    EXPECT_EQ(busy.body.find("multitask_strategy"), std::string::npos) << "is not of this form";
  }
  EXPECT_EQ(client.get(fmt::format("/v1/threads/{}/messages", thread_id)).json().as_array()->size(),
            1u);
}

TEST(CreateResponse, GoesOnInItsThreadUntilSomethingCameBehind) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string first = make_waiting(client);
  end_run(stack(), run_of(first), "completed", "one");
  std::string thread_id = thread_of(client, first);
  std::string second = make_waiting(client, behind(first));
  EXPECT_EQ(thread_of(client, second), thread_id);
  end_run(stack(), run_of(second), "completed", "two");
  // A message of the native kind is something, too.
  post_message(client, thread_id, "native");
  std::string third = make_waiting(client, behind(second));
  std::string copy = thread_of(client, third);
  EXPECT_NE(copy, thread_id);
  std::string messages = client.get(fmt::format("/v1/threads/{}/messages", copy)).body;
  EXPECT_NE(messages.find("\"two\""), messages.npos);
  EXPECT_EQ(messages.find("\"native\""), messages.npos);
  std::string fourth = make_waiting(client, fmt::format(R"(,"conversation":"conv_{}")", thread_id));
  EXPECT_EQ(thread_of(client, fourth), thread_id);
}

TEST(CreateResponse, CountsWhatItStores) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  auto stored = [&] {
    return sql_number(stack(), fmt::format("SELECT stored_bytes FROM credit_accounts WHERE org_id "
                                           "= '{}'",
                                           conversation.user.org_id));
  };
  auto held = [&] {
    return sql_number(
        stack(), fmt::format("SELECT (SELECT sum(octet_length(content)) FROM messages WHERE org_id "
                             "= '{0}') + (SELECT coalesce(sum(result_bytes + event_bytes), 0) "
                             "FROM runs WHERE org_id = '{0}')",
                             conversation.user.org_id));
  };
  std::string first = make_waiting(client, R"(,"instructions":"Be brief.")");
  EXPECT_EQ(stored(), held());
  end_run(stack(), run_of(first), "completed", "one");
  EXPECT_EQ(client.post(path_of(first, "/cancel")).status, 502) << "there is no relay here";
  std::string second = make_waiting(client, behind(first));
  end_run(stack(), run_of(second), "completed", "two");
  make_waiting(client, behind(first));
  EXPECT_EQ(stored(), held());
}

// POST /v1/openai/responses/{response}/cancel
TEST(CancelResponse, AnswersWhenItHasStopped) {
  TestUser user = register_user(runner_stack());
  std::string id = make_response(user.client, "[delay 50][words 200]", R"(,"background":true)");
  wait_for_status(user.client, run_of(id), "running");
  Answer answer = user.client.post(path_of(id, "/cancel"));
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.member("status"), "cancelled");
  EXPECT_EQ(user.client.post(path_of(id, "/cancel")).member("status"), "cancelled");
  std::string ended = make_response(user.client, "[say done]");
  EXPECT_EQ(user.client.post(path_of(ended, "/cancel")).member("status"), "completed");
}

// DELETE /v1/openai/responses/{response}
TEST(DeleteResponse, HidesItAndWhatFollowsButNeverItsUsage) {
  TestUser user = register_user(runner_stack());
  const Client& client = user.client;
  std::string first = make_response(client, "[say one]");
  std::string second = make_response(client, "[say two]", behind(first));
  std::string third =
      make_response(client, "[delay 50][words 300]", behind(second) + R"(,"background":true)");
  std::string usage = client.get("/v1/runs/" + run_of(second)).member("total_output_tokens");
  Answer deleted = client.del(path_of(second));
  EXPECT_EQ(deleted.body,
            fmt::format(R"({{"id":"{}","object":"response","deleted":true}})", second));
  EXPECT_EQ(wait_for_status(client, run_of(third), "cancelled"), "cancelled");
  for (const std::string& id : {second, third}) {
    for (const char* further : {"", "?stream=true", "/input_items"}) {
      EXPECT_TRUE(is_problem(client.get(path_of(id, further)), 404, "runs.not_found")) << further;
    }
    EXPECT_TRUE(is_problem(client.del(path_of(id)), 404, "runs.not_found"));
    EXPECT_TRUE(is_problem(client.get(fmt::format("/v1/runs/{}/events", run_of(id))), 404,
                           "runs.not_found"));
  }
  std::string messages =
      client.get(fmt::format("/v1/threads/{}/messages", thread_of(client, first))).body;
  EXPECT_NE(messages.find("\"one\""), messages.npos);
  EXPECT_EQ(messages.find("two"), messages.npos);
  EXPECT_EQ(messages.find("words"), messages.npos);
  Json run = client.get("/v1/runs/" + run_of(second)).json();
  EXPECT_EQ(std::to_string(run.integer_or("total_output_tokens", -1)), usage);
  EXPECT_EQ(sql_number(runner_stack(), fmt::format("SELECT count(*) FROM audit_logs WHERE action = "
                                                   "'responses.delete' AND target_id = '{}'",
                                                   run_of(second))),
            1);
  // The thread goes on from what is left of it.
  std::string next = make_response(client, "[say four]", behind(first));
  EXPECT_EQ(thread_of(client, next), thread_of(client, first));
}

TEST(DeleteResponse, LeavesNothingOfItWhereItHadNoAnswer) {
  TestUser user = register_user(runner_stack());
  const Client& client = user.client;
  std::string first = make_response(client, "[say one]");
  constexpr const char* tools =
      R"(,"tools":[{"type":"function","name":"parcel","parameters":{"type":"object"}}])";
  Answer second = client.post(
      route, fmt::format(R"({{"model":"normal","input":"[think hush][tool parcel {{}}]"{}{}}})",
                         tools, behind(first)));
  ASSERT_EQ(second.status, 200) << second.body;
  std::string call_id(second.json().find("output")->as_array()->back().text_or("call_id"));
  std::string chat = fmt::format("/v1/ui/chat/{}/messages", thread_of(client, first));
  EXPECT_NE(client.get(chat).body.find("hush"), std::string::npos);
  ASSERT_EQ(client.del(path_of(second.member("id"))).status, 200);
  // Neither its thoughts and calls in the chat of its thread, nor its turn for what comes later.
  std::string messages = client.get(chat).body;
  EXPECT_EQ(messages.find("hush"), messages.npos) << messages;
  EXPECT_EQ(messages.find("parcel"), messages.npos) << messages;
  EXPECT_NE(messages.find("\"one\""), messages.npos) << messages;
  Answer late = client.post(route, fmt::format(R"({{"model":"normal","input":[)"
                                               R"({{"type":"function_call_output","call_id":"{}",)"
                                               R"("output":"late"}}]}})",
                                               call_id));
  EXPECT_EQ(late.status, 400) << late.body;
  EXPECT_EQ(late.json().find("error")->text_or("param"), "input") << late.body;
}

TEST(DeleteResponse, OfManyAtOnceOneDeletesIt) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string id = make_waiting(client);
  Call deletion{"DELETE", path_of(id), "", "application/json", {}};
  int deleted = 0;
  for (const Answer& answer : client.send_all(std::vector<Call>(8, deletion))) {
    if (answer.status == 200) {
      ++deleted;
    } else {
      EXPECT_TRUE(is_problem(answer, 404, "runs.not_found"));
    }
  }
  EXPECT_EQ(deleted, 1);
}

// GET /v1/openai/responses/{response}/input_items
TEST(ListResponseItems, ArePagesOfItsOwnInput) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string body = R"({"model":"normal","background":true,"input":[)"
                     R"({"role":"developer","content":"a"},{"role":"user","content":"b"},)"
                     R"({"type":"reasoning","summary":[]},{"role":"assistant","content":"c"},)"
                     R"({"type":"function_call","call_id":"x","name":"f","arguments":"{}"},)"
                     R"({"type":"function_call_output","call_id":"x","output":"d"},)"
                     R"({"role":"user","content":"e"}]})";
  Answer made = client.post(route, body);
  ASSERT_EQ(made.status, 200) << made.body;
  std::string items = path_of(made.member("id"), "/input_items");
  std::string seen;
  std::string after;
  for (int page = 0; page < 3; ++page) {
    Json list = client.get(items + "?order=asc&limit=2" + after).json();
    for (const Json& item : *list.find("data")->as_array()) {
      seen += item.text_or("type").substr(0, 8);
      seen += item.text_or("role");
      seen += "|";
    }
    after = fmt::format("&after={}", list.text_or("last_id"));
    EXPECT_EQ(list.find("has_more")->dump(), page < 2 ? "true" : "false");
  }
  EXPECT_EQ(seen, "messagedeveloper|messageuser|messageassistant|function|function|messageuser|");
  Json newest = client.get(items + "?limit=1").json();
  EXPECT_NE(newest.dump().find(R"("text":"e")"), std::string::npos);
  for (const char* query :
       {"?limit=0", "?limit=101", "?order=up", "?after=msg_nobody", "?after="}) {
    EXPECT_TRUE(is_problem(client.get(items + query), 400, "validation.error")) << query;
  }
  stack().sql().run_text(
      fmt::format("DELETE FROM run_histories WHERE run_id = '{}'", run_of(made.member("id"))));
  EXPECT_TRUE(is_problem(client.get(items), 410, "runs.events_expired"));
}

}  // namespace
}  // namespace hostler::testing_support
