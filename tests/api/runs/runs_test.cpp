// POST /v1/threads/{thread_id}/runs and POST /v1/runs/{run_id}:cancel.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

std::string status_of(const Client& client, const std::string& run_id) {
  return client.get("/v1/runs/" + run_id).member("status");
}

TEST(CreateRun, AnswersRunAndTraceAndIsTheThreadsActiveRun) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  Answer made = client.post(runs_of(conversation.thread_id), "{}");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("trace_id"), made.header("x-trace-id"));
  std::string run_id = made.member("run_id");
  EXPECT_EQ(client.get("/v1/threads/" + conversation.thread_id).member("active_run_id"), run_id);
  Answer run = client.get("/v1/runs/" + run_id);
  EXPECT_EQ(run.member("status"), "running");
  EXPECT_EQ(run.member("trace_id"), made.member("trace_id"));
  EXPECT_EQ(run.member("thread_id"), conversation.thread_id);
  EXPECT_EQ(run.member("created_by_user_id"), conversation.user.id);
  EXPECT_EQ(run.member("org_id"), conversation.user.org_id);
  EXPECT_EQ(run.member("model"), "small");
  EXPECT_EQ(run.member("persona_id"), "normal@1");
  EXPECT_EQ(run.member("error"), "null");
  EXPECT_EQ(run.member("last_seq"), "0");
  EXPECT_EQ(run.member("queued"), "false");
  EXPECT_EQ(run.member("queue_position"), "null");
}

TEST(CreateRun, TakesAnEmptyBodyAndEmptyMembers) {
  TestConversation conversation = make_conversation(stack());
  Answer bare =
      conversation.user.client.send({"POST", runs_of(conversation.thread_id), "", "", {}});
  ASSERT_EQ(bare.status, 201) << bare.body;
  conversation.user.client.post("/v1/runs/" + bare.member("run_id") + ":cancel");
  start_run(conversation.user.client, conversation.thread_id,
            R"({"route_id":null,"persona_id":"","multitask_strategy":null})");
}

TEST(CreateRun, TakesTheRouteAndPersonaThatAreNamed) {
  TestConversation conversation = make_conversation(stack());
  Answer other = conversation.user.client.post(
      fmt::format("/v1/llm-providers/{}/models?scope=org", conversation.model.provider_id),
      R"({"model":"large"})");
  std::string run_id =
      start_run(conversation.user.client, conversation.thread_id,
                fmt::format(R"({{"route_id":"{}","persona_id":"search"}})", other.member("id")));
  Answer run = conversation.user.client.get("/v1/runs/" + run_id);
  EXPECT_EQ(run.member("model"), "large");
  EXPECT_EQ(run.member("persona_id"), "search@1");
}

TEST(CreateRun, ListsEveryFaultOfTheInput) {
  TestConversation conversation = make_conversation(stack());
  Answer answer = conversation.user.client.post(
      runs_of(conversation.thread_id),
      R"({"route_id":"x","persona_id":"A b","multitask_strategy":"y"})");
  EXPECT_TRUE(has_fault(answer, "route_id", "bad_format"));
  EXPECT_TRUE(has_fault(answer, "persona_id", "bad_format"));
  EXPECT_TRUE(has_fault(answer, "multitask_strategy", "unknown"));
  EXPECT_EQ(fault_count(answer), 3u);
  for (const char* persona : {"@1", "a@", "a@1@2", "a@ 1"}) {
    EXPECT_TRUE(
        has_fault(conversation.user.client.post(runs_of(conversation.thread_id),
                                                fmt::format(R"({{"persona_id":"{}"}})", persona)),
                  "persona_id", "bad_format"))
        << persona;
  }
}

TEST(CreateRun, RefusesRoutesAndPersonasThatAreUnknown) {
  TestConversation conversation = make_conversation(stack());
  TestConversation other = make_conversation(stack());
  for (const std::string& route :
       {std::string("01a1fa43-8dcd-7506-ab81-ef7a33b2be1a"), other.model.model_id}) {
    EXPECT_TRUE(
        is_problem(conversation.user.client.post(runs_of(conversation.thread_id),
                                                 fmt::format(R"({{"route_id":"{}"}})", route)),
                   422, "runs.unknown_route"));
  }
  Answer theirs =
      other.user.client.post("/v1/personas?scope=org", R"({"persona_key":"theirs","version":"1"})");
  ASSERT_EQ(theirs.status, 201) << theirs.body;
  for (const char* persona : {"nobody", "normal@9", "theirs", "theirs@1"}) {
    EXPECT_TRUE(
        is_problem(conversation.user.client.post(runs_of(conversation.thread_id),
                                                 fmt::format(R"({{"persona_id":"{}"}})", persona)),
                   422, "runs.unknown_persona"));
  }
}

TEST(CreateRun, NeedsAModelAndAMessage) {
  TestUser user = register_user(stack());
  std::string thread = make_thread(user.client);
  post_message(user.client, thread);
  EXPECT_TRUE(is_problem(user.client.post(runs_of(thread), "{}"), 422, "runs.no_model"));
  make_model(user);
  std::string empty = make_thread(user.client);
  EXPECT_TRUE(is_problem(user.client.post(runs_of(empty), "{}"), 422, "runs.no_messages"));
  EXPECT_EQ(user.client.get("/v1/runs").body, "[]");
}

TEST(CreateRun, IsForTheThreadsCreatorWhoMayWriteRuns) {
  TestUser owner = register_user(stack());
  TestUser member = register_user(stack());
  TestConversation stranger = make_conversation(stack());
  std::string work = make_workspace(stack(), owner);
  add_member(stack(), work, member, "member");
  std::string thread = make_thread(member.client.with_org(work));
  EXPECT_TRUE(
      is_problem(owner.client.with_org(work).post(runs_of(thread), "{}"), 403, "policy.denied"));
  EXPECT_TRUE(
      is_problem(stranger.user.client.post(runs_of(thread), "{}"), 404, "threads.not_found"));
  Client reader =
      stack().client().with_token(make_api_key(stack(), member, work, "data.runs.read"));
  EXPECT_TRUE(is_problem(reader.post(runs_of(thread), "{}"), 403, "auth.forbidden"));
  Client key = stack().client().with_token(
      make_api_key(stack(), stranger.user, stranger.user.org_id, "data.runs.write"));
  EXPECT_EQ(key.post(runs_of(stranger.thread_id), "{}").status, 201);
}

TEST(CreateRun, RejectsASecondRunAndNamesTheActiveOne) {
  TestConversation conversation = make_conversation(stack());
  std::string run_id = start_run(conversation.user.client, conversation.thread_id);
  Answer busy = conversation.user.client.post(runs_of(conversation.thread_id), "{}");
  EXPECT_TRUE(is_problem(busy, 409, "runs.thread_busy"));
  EXPECT_EQ(busy.member("active_run_id"), run_id);
  EXPECT_TRUE(is_problem(
      conversation.user.client.post(runs_of(conversation.thread_id), R"({"persona_id":"nobody"})"),
      422, "runs.unknown_persona"));
}

TEST(CreateRun, QueuesBehindTheActiveRunWhenAsked) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string first = start_run(client, conversation.thread_id);
  std::string second =
      start_run(client, conversation.thread_id, R"({"multitask_strategy":"enqueue"})");
  std::string third =
      start_run(client, conversation.thread_id, R"({"multitask_strategy":"enqueue"})");
  EXPECT_EQ(client.get("/v1/runs/" + second).member("queue_position"), "1");
  EXPECT_EQ(client.get("/v1/runs/" + third).member("queue_position"), "2");
  EXPECT_EQ(client.get("/v1/runs/" + third).member("queued"), "true");
  EXPECT_EQ(limit_used(client, "limit.queued_runs"), 2);
  EXPECT_EQ(status_of(client, third), "running");
  end_run(stack(), first, "completed", "done");
  EXPECT_EQ(client.get("/v1/threads/" + conversation.thread_id).member("active_run_id"), second);
  EXPECT_EQ(client.get("/v1/runs/" + second).member("queued"), "false");
  EXPECT_EQ(client.get("/v1/runs/" + third).member("queue_position"), "1");
}

TEST(CreateRun, InterruptsTheActiveAndTheQueuedWhenAsked) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string first = start_run(client, conversation.thread_id);
  std::string second =
      start_run(client, conversation.thread_id, R"({"multitask_strategy":"enqueue"})");
  std::string third =
      start_run(client, conversation.thread_id, R"({"multitask_strategy":"interrupt"})");
  EXPECT_EQ(status_of(client, first), "cancelled");
  EXPECT_EQ(status_of(client, second), "cancelled");
  EXPECT_EQ(client.get("/v1/threads/" + conversation.thread_id).member("active_run_id"), third);
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT data ->> 'reason' FROM run_events WHERE run_id "
                                           "= '{}' AND type = 'run.cancelled'",
                                           first)),
            "interrupted");
}

TEST(CreateRun, WaitsForTheOwnerOfAnInterruptedRun) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string first = start_run(client, conversation.thread_id);
  claim_run(stack(), first);
  std::string second =
      start_run(client, conversation.thread_id, R"({"multitask_strategy":"interrupt"})");
  EXPECT_EQ(status_of(client, first), "running");
  EXPECT_EQ(client.get("/v1/runs/" + second).member("queue_position"), "1");
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM runs WHERE id = '{}' AND "
                                            "cancel_requested_at IS NOT NULL",
                                            first)),
            1);
}

TEST(CreateRun, GivesAThreadToOneOfManyWhoAskAtOnce) {
  TestConversation conversation = make_conversation(stack());
  std::vector<Call> calls(8,
                          {"POST", runs_of(conversation.thread_id), "{}", "application/json", {}});
  int made = 0;
  for (const Answer& answer : conversation.user.client.send_all(calls)) {
    if (answer.status == 201) {
      ++made;
    } else {
      EXPECT_TRUE(is_problem(answer, 409, "runs.thread_busy"));
    }
  }
  EXPECT_EQ(made, 1);
}

TEST(CreateRun, AdmitsTenActiveRunsOfAnOrganizationHoweverManyAskAtOnce) {
  TestConversation conversation = make_conversation(stack());
  std::vector<Call> calls;
  for (int i = 0; i < 14; ++i) {
    std::string thread = make_thread(conversation.user.client);
    post_message(conversation.user.client, thread);
    calls.push_back({"POST", runs_of(thread), "{}", "application/json", {}});
  }
  int made = 0;
  for (const Answer& answer : conversation.user.client.send_all(calls)) {
    if (answer.status == 201) {
      ++made;
    } else {
      EXPECT_TRUE(is_problem(answer, 429, "runs.limit_exceeded"));
      EXPECT_GE(answer.header_number("retry-after"), 1);
    }
  }
  EXPECT_EQ(made, 10);
  TestConversation other = make_conversation(stack());
  start_run(other.user.client, other.thread_id);
}

TEST(CreateRun, QueuesAtMostAHundredRunsOfAnOrganization) {
  TestConversation conversation = make_conversation(stack());
  start_run(conversation.user.client, conversation.thread_id);
  std::vector<Call> calls(103, {"POST",
                                runs_of(conversation.thread_id),
                                R"({"multitask_strategy":"enqueue"})",
                                "application/json",
                                {}});
  int made = 0;
  for (const Answer& answer : conversation.user.client.send_all(calls)) {
    made += answer.status == 201 ? 1 : 0;
    EXPECT_TRUE(answer.status == 201 || is_problem(answer, 429, "runs.limit_exceeded"));
  }
  EXPECT_EQ(made, 100);
}

TEST(CancelRun, EndsARunThatNobodyExecutesAtOnceAndMayBeRepeated) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string run_id = start_run(client, conversation.thread_id);
  for (int i = 0; i < 2; ++i) {
    Answer answer = client.post("/v1/runs/" + run_id + ":cancel");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, R"({"ok":true})");
    EXPECT_EQ(status_of(client, run_id), "cancelled");
  }
  EXPECT_EQ(client.get("/v1/runs/" + run_id).member("last_seq"), "1");
  EXPECT_EQ(client.get("/v1/threads/" + conversation.thread_id).member("active_run_id"), "null");
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT count(*) || ' ' || min(org_id::text) FROM "
                                           "audit_logs WHERE action = 'runs.cancel' AND target_id "
                                           "= '{}'",
                                           run_id)),
            "1 " + conversation.user.org_id);
}

TEST(CancelRun, AsksTheDaemonThatExecutesIt) {
  TestConversation conversation = make_conversation(stack());
  std::string run_id = start_run(conversation.user.client, conversation.thread_id);
  claim_run(stack(), run_id);
  EXPECT_EQ(conversation.user.client.post("/v1/runs/" + run_id + ":cancel").status, 200);
  EXPECT_EQ(status_of(conversation.user.client, run_id), "running");
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM runs WHERE id = '{}' AND "
                                            "cancel_requested_at IS NOT NULL",
                                            run_id)),
            1);
}

TEST(CancelRun, LeavesAnEndedRunAsItIs) {
  TestConversation conversation = make_conversation(stack());
  for (const char* status : {"completed", "failed"}) {
    std::string run_id = start_run(conversation.user.client, conversation.thread_id);
    end_run(stack(), run_id, status);
    EXPECT_EQ(conversation.user.client.post("/v1/runs/" + run_id + ":cancel").body,
              R"({"ok":true})");
    EXPECT_EQ(status_of(conversation.user.client, run_id), status);
  }
}

TEST(CancelRun, IsForTheCreatorWhoReadsAllRunsAndPlatformAdministrators) {
  TestUser boss = register_user(stack());
  TestUser member = register_user(stack());
  TestUser third = register_user(stack());
  TestUser admin = register_admin(stack());
  TestUser stranger = register_user(stack());
  std::string work = make_workspace(stack(), boss);
  add_member(stack(), work, member, "member");
  add_member(stack(), work, third, "member");
  TestUser in_work = boss;
  in_work.client = boss.client.with_org(work);
  make_model(in_work);
  auto new_run = [&](std::string_view thread_body) {
    Client client = member.client.with_org(work);
    std::string thread = make_thread(client, thread_body);
    post_message(client, thread);
    return "/v1/runs/" + start_run(client, thread) + ":cancel";
  };
  std::string path = new_run("{}");
  EXPECT_TRUE(is_problem(stack().client().post(path), 401, "auth.missing_token"));
  EXPECT_TRUE(is_problem(stranger.client.post(path), 404, "runs.not_found"));
  EXPECT_TRUE(is_problem(third.client.with_org(work).post(path), 403, "policy.denied"));
  Answer elsewhere = member.client.post(path);
  EXPECT_TRUE(is_problem(elsewhere, 404, "runs.not_found"));
  EXPECT_NE(elsewhere.member("detail").find("X-Org-Id: " + work), std::string::npos);
  Client reader =
      stack().client().with_token(make_api_key(stack(), member, work, "data.runs.read"));
  EXPECT_TRUE(is_problem(reader.post(path), 403, "auth.forbidden"));
  EXPECT_EQ(boss.client.with_org(work).post(path).status, 200);
  EXPECT_EQ(admin.client.post(new_run("{}")).status, 200);
  EXPECT_EQ(member.client.with_org(work).post(new_run("{}")).status, 200);
  EXPECT_TRUE(is_problem(boss.client.with_org(work).post(new_run(R"({"is_private":true})")), 403,
                         "policy.denied"));
  EXPECT_TRUE(is_problem(member.client.post("/v1/runs/x:cancel"), 404, "runs.not_found"));
}

}  // namespace
}  // namespace hostler::testing_support
