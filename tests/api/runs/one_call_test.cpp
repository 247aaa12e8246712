// POST /v1/threads/{thread_id}/runs with content and stream, and POST /v1/runs: what they make, and
// what they refuse before anything of it exists. No daemon runs here.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

constexpr const char* begin_route = "/v1/runs";
constexpr const char* nobodys_id = "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a";

// Returns what there is of the organization, and what its account counts.
std::string rows_of(ApiStack& of, const std::string& org_id) {
  return sql_value(
      of, fmt::format("SELECT concat_ws(' ', (SELECT count(*) FROM threads WHERE org_id = '{0}'), "
                      "(SELECT count(*) FROM messages WHERE org_id = '{0}'), "
                      "(SELECT count(*) FROM runs WHERE org_id = '{0}'), "
                      "(SELECT concat_ws(' ', held, active_runs, queued_runs, stored_bytes) "
                      "FROM credit_accounts WHERE org_id = '{0}'))",
                      org_id));
}

// Messages and runs of the thread, in the order of their ids.
std::string order_in(const std::string& thread_id) {
  return sql_value(stack(),
                   fmt::format("SELECT string_agg(x.what, ' ' ORDER BY x.id) FROM ("
                               "SELECT id, content AS what FROM messages WHERE thread_id = '{0}' "
                               "UNION ALL SELECT id, 'run' FROM runs WHERE thread_id = '{0}') AS x",
                               thread_id));
}

TEST(OneCall, PostsTheMessageThatTheRunAnswers) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  Answer made = client.post(runs_of(conversation.thread_id), R"({"content":"second"})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json().as_object()->size(), 4u) << made.body;
  EXPECT_EQ(made.member("trace_id"), made.header("x-trace-id"));
  EXPECT_EQ(made.member("thread_id"), conversation.thread_id);
  Answer thread = client.get("/v1/threads/" + conversation.thread_id);
  EXPECT_EQ(thread.member("active_run_id"), made.member("run_id"));
  Json messages = client.get("/v1/threads/" + conversation.thread_id + "/messages").json();
  ASSERT_EQ(messages.as_array()->size(), 2u);
  const Json& message = messages.as_array()->back();
  EXPECT_EQ(message.text_or("id"), made.member("message_id"));
  EXPECT_EQ(message.text_or("role"), "user");
  EXPECT_EQ(message.text_or("created_by_user_id"), conversation.user.id);
  EXPECT_EQ(order_in(conversation.thread_id), "hello second run");
  EXPECT_EQ(client.get("/v1/threads/search?q=second").json().as_array()->size(), 1u);
}

TEST(OneCall, MakesTheThreadAsItIsDescribed) {
  TestUser user = register_user(stack());
  make_model(user);
  Answer made = user.client.post(
      begin_route, R"({"thread":{"title":"Graz trip","is_private":true,"end_user":"eve",)"
                   R"("metadata":{"a":"1"}},"content":"hello","metadata":{"b":"2"}})");
  ASSERT_EQ(made.status, 201) << made.body;
  Answer thread = user.client.get("/v1/threads/" + made.member("thread_id"));
  EXPECT_EQ(thread.member("title"), "Graz trip");
  EXPECT_EQ(thread.member("is_private"), "true");
  EXPECT_EQ(thread.member("end_user"), "eve");
  EXPECT_EQ(thread.member("metadata"), R"({"a":"1"})");
  EXPECT_EQ(thread.member("active_run_id"), made.member("run_id"));
  Answer run = user.client.get("/v1/runs/" + made.member("run_id"));
  EXPECT_EQ(run.member("end_user"), "eve");
  EXPECT_EQ(run.member("metadata"), R"({"b":"2"})");
  EXPECT_EQ(order_in(made.member("thread_id")), "hello run");
  EXPECT_EQ(user.client.get("/v1/threads/search?q=graz").json().as_array()->size(), 1u);
  EXPECT_EQ(user.client.post(begin_route, R"({"content":"hello","thread":null})").status, 201);
}

TEST(OneCall, IsTheOldCallWithoutContentAndStream) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  Answer made = client.post(
      begin_route, fmt::format(R"({{"thread_id":"{}","stream":false}})", conversation.thread_id));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json().as_object()->size(), 2u) << made.body;
  Answer next = client.post(
      runs_of(conversation.thread_id),
      fmt::format(R"({{"multitask_strategy":"enqueue","thread_id":"{}","thread":7}})", nobodys_id));
  ASSERT_EQ(next.status, 201) << "the path names the thread: " << next.body;
  EXPECT_EQ(next.json().as_object()->size(), 2u) << next.body;
}

TEST(OneCall, ReportsEveryFaultAndLeavesNothing) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string before = rows_of(stack(), conversation.user.org_id);
  std::string long_text = json_quote(std::string((64 << 10) + 1, 'a'));
  struct Fault {
    std::string body;
    const char* field;
    const char* code;
  };
  for (const Fault& fault :
       {Fault{R"({"content":""})", "content", "required"},
        Fault{R"({"content":" \n"})", "content", "required"},
        Fault{R"({"content":7})", "content", "wrong_type"},
        Fault{R"({"content":null})", "content", "required"},
        Fault{"{\"content\":" + long_text + "}", "content", "too_long"},
        Fault{R"({"content":"a","stream":"yes"})", "stream", "wrong_type"},
        Fault{R"({"content":"a","stream":null})", "stream", "wrong_type"},
        Fault{R"({"content":"a","route_id":"x"})", "route_id", "bad_format"}}) {
    for (const std::string& path : {runs_of(conversation.thread_id), std::string(begin_route)}) {
      EXPECT_TRUE(has_fault(client.post(path, fault.body), fault.field, fault.code)) << fault.body;
    }
  }
  EXPECT_TRUE(
      has_fault(client.post(begin_route, R"({"content":"a","thread":7})"), "thread", "wrong_type"));
  EXPECT_TRUE(has_fault(client.post(begin_route, R"({"content":"a","thread":{"title":7}})"),
                        "thread.title", "wrong_type"));
  EXPECT_TRUE(has_fault(client.post(begin_route, fmt::format(R"({{"content":"a","thread":{{}},)"
                                                             R"("thread_id":"{}","stream":true}})",
                                                             conversation.thread_id)),
                        "thread", "bad_format"));
  for (const char* nothing : {"", "{}", R"({"stream":true})", R"({"thread":{"title":"a"}})"}) {
    EXPECT_TRUE(is_problem(client.post(begin_route, nothing), 422, "runs.no_messages")) << nothing;
  }
  EXPECT_TRUE(is_problem(client.post(begin_route, "{"), 400, "http.bad_json"));
  for (const char* choice :
       {R"("persona_id":"nobody")", R"("persona_id":"nobody","stream":true)"}) {
    for (const std::string& path : {runs_of(conversation.thread_id), std::string(begin_route)}) {
      Answer unknown = client.post(path, fmt::format(R"({{"content":"a",{}}})", choice));
      EXPECT_TRUE(is_problem(unknown, 422, "runs.unknown_persona"));
      EXPECT_EQ(unknown.header("x-hostler-run"), "");
    }
  }
  EXPECT_EQ(rows_of(stack(), conversation.user.org_id), before);
}

TEST(OneCall, ChecksRightsThenTheThreadThenTheBody) {
  TestUser owner = register_user(stack());
  TestUser member = register_user(stack());
  TestConversation stranger = make_conversation(stack());
  std::string work = make_workspace(stack(), owner);
  add_member(stack(), work, member, "member");
  Client in_work = member.client.with_org(work);
  std::string others = make_thread(owner.client.with_org(work));
  std::string own = make_thread(in_work);
  std::string deleted = make_thread(in_work);
  ASSERT_EQ(in_work.del("/v1/threads/" + deleted).status, 204);
  std::string before = rows_of(stack(), work);
  auto naming = [](std::string_view thread_id, std::string_view more) {
    return fmt::format(R"({{"thread_id":"{}",{}}})", thread_id, more);
  };
  // Each body has a fault besides.
  for (const char* more : {R"("content":"","stream":true)", R"("content":"a","thread":{})",
                           R"("content":"a","stream":7)"}) {
    EXPECT_TRUE(is_problem(in_work.post(begin_route, naming(others, more)), 403, "policy.denied"));
    for (const std::string& missing : {stranger.thread_id, deleted, std::string(nobodys_id),
                                       std::string("no id"), std::string()}) {
      EXPECT_TRUE(
          is_problem(in_work.post(begin_route, naming(missing, more)), 404, "threads.not_found"))
          << missing << more;
    }
  }
  EXPECT_TRUE(is_problem(in_work.post(begin_route, R"({"thread_id":7,"content":"a"})"), 404,
                         "threads.not_found"));
  EXPECT_TRUE(is_problem(in_work.post(begin_route, naming("no id", R"("content":"a")")), 404,
                         "threads.not_found"));
  EXPECT_TRUE(is_problem(in_work.post(begin_route, naming(others, R"("content":"a")")), 403,
                         "policy.denied"));
  Client writes_runs =
      stack().client().with_token(make_api_key(stack(), member, work, "data.runs.write"));
  for (const char* body :
       {R"({"content":"a"})", R"({"content":""})", R"({"content":7,"stream":7})"}) {
    for (const std::string& path : {runs_of(own), runs_of(others), std::string(begin_route)}) {
      Answer refused = writes_runs.post(path, body);
      EXPECT_TRUE(is_problem(refused, 403, "auth.forbidden")) << path << body;
      EXPECT_EQ(refused.member("permission"), "data.threads.write");
    }
  }
  EXPECT_EQ(writes_runs.post(begin_route, "{}").member("permission"), "data.threads.write");
  for (const char* body : {R"({"stream":true})", R"({"stream":true,"route_id":"x"})"}) {
    EXPECT_EQ(writes_runs.post(runs_of(own), body).member("permission"), "data.runs.read");
  }
  EXPECT_TRUE(
      is_problem(writes_runs.post(runs_of(own), R"({"stream":false})"), 422, "runs.no_model"));
  EXPECT_EQ(rows_of(stack(), work), before);
}

TEST(OneCall, StoresNothingOfAMessageWhoseThreadIsBusy) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string active = start_run(client, conversation.thread_id);
  std::string before = rows_of(stack(), conversation.user.org_id);
  for (const char* stream : {"false", "true"}) {
    Answer busy = client.post(runs_of(conversation.thread_id),
                              fmt::format(R"({{"content":"a","stream":{}}})", stream));
    EXPECT_TRUE(is_problem(busy, 409, "runs.thread_busy"));
    EXPECT_EQ(busy.member("active_run_id"), active);
    EXPECT_EQ(busy.header("x-hostler-run"), "");
  }
  EXPECT_EQ(rows_of(stack(), conversation.user.org_id), before);
  Answer queued = client.post(runs_of(conversation.thread_id),
                              R"({"content":"second","multitask_strategy":"enqueue"})");
  ASSERT_EQ(queued.status, 201) << queued.body;
  EXPECT_EQ(client.get("/v1/runs/" + queued.member("run_id")).member("queued"), "true");
  Answer last = client.post(runs_of(conversation.thread_id),
                            R"({"content":"third","multitask_strategy":"interrupt"})");
  ASSERT_EQ(last.status, 201) << last.body;
  EXPECT_EQ(client.get("/v1/runs/" + active).member("status"), "cancelled");
  EXPECT_EQ(client.get("/v1/runs/" + queued.member("run_id")).member("status"), "cancelled");
  EXPECT_EQ(order_in(conversation.thread_id), "hello run second run third run");
}

TEST(OneCall, CountsInTheLimitsAndCreditsOfBothCalls) {
  ApiStack own({{"HOSTLER_LIMIT_CONCURRENT_RUNS=1", "HOSTLER_CREDIT_INITIAL_GRANT=10",
                 "HOSTLER_LIMIT_STORED_BYTES=400"}});
  TestUser user = register_user(own);
  make_model(user);
  auto refused = [&](std::string_view content, int status, std::string_view code) {
    std::string before = rows_of(own, user.org_id);
    for (const char* stream : {"false", "true"}) {
      Answer answer = user.client.post(
          begin_route, fmt::format(R"({{"content":"{}","stream":{}}})", content, stream));
      EXPECT_TRUE(is_problem(answer, status, code)) << answer.body;
    }
    EXPECT_EQ(rows_of(own, user.org_id), before);
  };
  refused(std::string(400, 'a'), 422, "limits.reached");
  Answer made = user.client.post(begin_route, R"({"content":"0123456789"})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(sql_value(own, fmt::format("SELECT stored_bytes FROM credit_accounts WHERE org_id = "
                                       "'{}'",
                                       user.org_id)),
            "10");
  refused("a", 429, "runs.limit_exceeded");
  end_run(own, made.member("run_id"), "completed");
  own.sql().run_text("UPDATE llm_models SET input_usd_per_mtok = 1, multiplier = 1");
  own.sql().run_text("UPDATE credit_accounts SET balance = 1");
  refused("a", 402, "credits.insufficient");
}

TEST(OneCall, HappensOnceUnderItsKey) {
  TestUser user = register_user(stack());
  make_model(user);
  auto call = [&](const std::string& body) {
    return user.client.send(
        {"POST", begin_route, body, "application/json", {{"Idempotency-Key", "k"}}});
  };
  Answer first = call(R"({"content":"hello"})");
  ASSERT_EQ(first.status, 201) << first.body;
  Answer again = call(R"({"content":"hello"})");
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(again.header("idempotency-replayed"), "true");
  EXPECT_TRUE(
      is_problem(call(R"({"content":"hello","stream":true})"), 422, "idempotency.key_reused"));
  EXPECT_EQ(user.client.get("/v1/threads").json().as_array()->size(), 1u);
}

// The run is there and goes on, so the problem names it; nobody repeats the call for it.
TEST(OneCall, NamesTheRunWhenNoDaemonStreamsIt) {
  TestUser user = register_user(stack());
  make_model(user);
  Answer lost = user.client.post(begin_route, R"({"content":"hello","stream":true})");
  EXPECT_TRUE(is_problem(lost, 502, "http.bad_gateway"));
  std::string run_id = lost.header("x-hostler-run");
  EXPECT_EQ(lost.member("run_id"), run_id);
  EXPECT_EQ(lost.header("x-should-retry"), "false");
  Answer run = user.client.get("/v1/runs/" + run_id);
  EXPECT_EQ(run.member("status"), "running");
  EXPECT_EQ(lost.header("x-hostler-thread"), run.member("thread_id"));
  EXPECT_TRUE(is_problem(user.client.get("/_run/" + run_id + "/native"), 404, "http.not_found"));
  EXPECT_TRUE(is_problem(user.client.get("/_run/x"), 404, "http.not_found"));
}

}  // namespace
}  // namespace hostler::testing_support
