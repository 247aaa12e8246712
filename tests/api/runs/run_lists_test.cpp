// GET /v1/runs, GET /v1/runs/{run_id}, GET /v1/threads/{thread_id}/runs,
// GET /v1/admin/runs/{run_id}.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

using Ids = std::vector<std::string>;

Ids ids_in(const Answer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  Ids ids;
  Json list = answer.json();
  for (const Json& item : *list.as_array()) ids.emplace_back(item.text_or("run_id"));
  return ids;
}

// Four runs of a thread, oldest first: completed, failed, cancelled, running.
Ids make_runs(const TestConversation& conversation) {
  Ids ids;
  for (const char* status : {"completed", "failed", "cancelled", ""}) {
    ids.push_back(start_run(conversation.user.client, conversation.thread_id));
    if (*status != '\0') end_run(stack(), ids.back(), status);
  }
  return ids;
}

TEST(Runs, AreListedNewestFirstByStatusAndPage) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  Ids ids = make_runs(conversation);
  EXPECT_EQ(ids_in(client.get("/v1/runs")), (Ids{ids[3], ids[2], ids[1], ids[0]}));
  EXPECT_EQ(ids_in(client.get("/v1/runs?status=completed")), Ids{ids[0]});
  EXPECT_EQ(ids_in(client.get("/v1/runs?status=failed")), Ids{ids[1]});
  EXPECT_EQ(ids_in(client.get("/v1/runs?status=cancelled")), Ids{ids[2]});
  EXPECT_EQ(ids_in(client.get("/v1/runs?status=running")), Ids{ids[3]});
  EXPECT_EQ(ids_in(client.get("/v1/runs?status=waiting_for_input")), Ids{});
  Answer page = client.get("/v1/runs?limit=3");
  EXPECT_EQ(ids_in(page), (Ids{ids[3], ids[2], ids[1]}));
  EXPECT_EQ(page.next_path(), "/v1/runs?limit=3&before=" + ids[1]);
  EXPECT_EQ(ids_in(client.get(page.next_path())), Ids{ids[0]});
  Answer bad = client.get("/v1/runs?status=lost&limit=0&before=x");
  EXPECT_TRUE(has_fault(bad, "status", "unknown"));
  EXPECT_EQ(fault_count(bad), 3u);
}

TEST(Runs, ShowWhatARunCostAndWhoseItIs) {
  TestConversation conversation = make_conversation(stack());
  std::string run_id = start_run(conversation.user.client, conversation.thread_id);
  claim_run(stack(), run_id);
  stack().sql().run_text(
      fmt::format("UPDATE runs SET total_input_tokens = 200, total_cached_tokens = 50, "
                  "total_output_tokens = 30, total_cost_nano_usd = 1234567, credits_used = 2 "
                  "WHERE id = '{}'",
                  run_id));
  end_run(stack(), run_id, "completed");
  Json list = conversation.user.client.get("/v1/runs").json();
  const Json& item = list.as_array()->front();
  EXPECT_EQ(item.integer_or("total_input_tokens", 0), 200);
  EXPECT_EQ(item.integer_or("total_output_tokens", 0), 30);
  EXPECT_EQ(item.find("total_cost_usd")->as_number(), 0.001234567);
  EXPECT_EQ(item.find("cache_hit_rate")->as_number(), 0.25);
  EXPECT_EQ(item.integer_or("credits_used", 0), 2);
  EXPECT_EQ(item.text_or("created_by_user_name"), conversation.user.login);
  EXPECT_EQ(item.text_or("created_by_email"), conversation.user.email);
  EXPECT_TRUE(item.find("completed_at")->is_text());
  EXPECT_TRUE(item.find("failed_at")->is_null());
}

TEST(Runs, OfTheOrganizationAreSeenByItsAdministratorsButPrivateOnes) {
  TestUser boss = register_user(stack());
  TestUser member = register_user(stack());
  std::string work = make_workspace(stack(), boss);
  add_member(stack(), work, member, "member");
  TestUser in_work = boss;
  in_work.client = boss.client.with_org(work);
  make_model(in_work);
  auto new_run = [&](const TestUser& actor, std::string_view body) {
    Client client = actor.client.with_org(work);
    std::string thread = make_thread(client, body);
    post_message(client, thread);
    return start_run(client, thread);
  };
  std::string open = new_run(member, "{}");
  std::string hidden = new_run(member, R"({"is_private":true})");
  std::string own = new_run(boss, R"({"is_private":true})");
  EXPECT_EQ(ids_in(boss.client.with_org(work).get("/v1/runs")), (Ids{own, open}));
  EXPECT_EQ(ids_in(member.client.with_org(work).get("/v1/runs")), (Ids{hidden, open}));
  EXPECT_EQ(ids_in(member.client.with_org(work).get("/v1/runs?status=running")),
            (Ids{hidden, open}));
  Answer page = member.client.with_org(work).get("/v1/runs?status=running&limit=1");
  EXPECT_EQ(ids_in(page), Ids{hidden});
  EXPECT_EQ(page.next_path(), "/v1/runs?status=running&limit=1&before=" + hidden);
  EXPECT_EQ(ids_in(member.client.with_org(work).get(page.next_path())), Ids{open});
  EXPECT_EQ(ids_in(boss.client.get("/v1/runs")), Ids{});
  EXPECT_EQ(boss.client.with_org(work).get("/v1/runs/" + open).status, 200);
  EXPECT_TRUE(
      is_problem(boss.client.with_org(work).get("/v1/runs/" + hidden), 403, "policy.denied"));
  EXPECT_TRUE(
      is_problem(member.client.with_org(work).get("/v1/runs/" + own), 403, "policy.denied"));
  Client scoped = stack().client().with_token(make_api_key(stack(), boss, work, "data.runs.read"));
  EXPECT_EQ(ids_in(scoped.get("/v1/runs")), Ids{own});
}

TEST(Runs, OfOtherTenantsAreNotFound) {
  TestConversation conversation = make_conversation(stack());
  TestUser stranger = register_user(stack());
  std::string run_id = start_run(conversation.user.client, conversation.thread_id);
  EXPECT_EQ(stranger.client.get("/v1/runs").body, "[]");
  for (const std::string& id :
       {run_id, std::string("01a1fa43-8dcd-7506-ab81-ef7a33b2be1a"), std::string("x")}) {
    EXPECT_TRUE(is_problem(stranger.client.get("/v1/runs/" + id), 404, "runs.not_found")) << id;
  }
  EXPECT_TRUE(
      is_problem(stranger.client.get(runs_of(conversation.thread_id)), 404, "threads.not_found"));
  Client key = stack().client().with_token(
      make_api_key(stack(), conversation.user, conversation.user.org_id, "data.threads.read"));
  for (const std::string& path :
       {std::string("/v1/runs"), "/v1/runs/" + run_id, runs_of(conversation.thread_id)}) {
    EXPECT_TRUE(is_problem(key.get(path), 403, "auth.forbidden")) << path;
  }
}

TEST(Runs, ThatFailedSayWhy) {
  TestConversation conversation = make_conversation(stack());
  std::string run_id = start_run(conversation.user.client, conversation.thread_id);
  end_run(stack(), run_id, "failed");
  Answer run = conversation.user.client.get("/v1/runs/" + run_id);
  EXPECT_EQ(run.json().find("error")->text_or("code"), "model.unavailable");
  EXPECT_EQ(run.member("last_seq"), "1");
}

TEST(ThreadRuns, AreListedNewestFirstPageByPage) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  Ids ids = make_runs(conversation);
  std::string path = runs_of(conversation.thread_id);
  EXPECT_EQ(ids_in(client.get(path)), (Ids{ids[3], ids[2], ids[1], ids[0]}));
  Answer page = client.get(path + "?limit=2");
  EXPECT_EQ(ids_in(page), (Ids{ids[3], ids[2]}));
  EXPECT_EQ(page.next_path(), path + "?limit=2&before=" + ids[2]);
  EXPECT_EQ(ids_in(client.get(page.next_path())), (Ids{ids[1], ids[0]}));
  EXPECT_TRUE(has_fault(client.get(path + "?limit=201"), "limit", "out_of_range"));
}

TEST(ThreadRuns, AreTheCreatorsAlone) {
  TestUser boss = register_user(stack());
  TestUser member = register_user(stack());
  std::string work = make_workspace(stack(), boss);
  add_member(stack(), work, member, "member");
  std::string thread = make_thread(member.client.with_org(work));
  EXPECT_TRUE(is_problem(boss.client.with_org(work).get(runs_of(thread)), 403, "policy.denied"));
  EXPECT_EQ(member.client.with_org(work).get(runs_of(thread)).body, "[]");
}

TEST(AdminRun, ShowsAnyRunToPlatformAdministrators) {
  TestConversation conversation = make_conversation(stack());
  TestUser admin = register_admin(stack());
  std::string run_id = start_run(conversation.user.client, conversation.thread_id);
  std::string path = "/v1/admin/runs/" + run_id;
  Answer run = admin.client.get(path);
  ASSERT_EQ(run.status, 200) << run.body;
  EXPECT_EQ(run.member("run_id"), run_id);
  EXPECT_EQ(run.member("org_id"), conversation.user.org_id);
  EXPECT_EQ(run.member("provider_kind"), "openai");
  EXPECT_EQ(run.member("credential_name"),
            sql_value(stack(), fmt::format("SELECT name FROM llm_providers WHERE id = '{}'",
                                           conversation.model.provider_id)));
  EXPECT_EQ(run.member("persona_model"), "");
  EXPECT_EQ(run.member("completed_at"), "null");
  EXPECT_EQ(admin.client.get("/v1/runs/" + run_id).status, 200);
  EXPECT_TRUE(is_problem(conversation.user.client.get(path), 403, "auth.forbidden"));
  Client key = stack().client().with_token(make_api_key(stack(), admin, admin.org_id));
  EXPECT_TRUE(is_problem(key.get(path), 403, "auth.user_token_required"));
  EXPECT_TRUE(is_problem(admin.client.get("/v1/admin/runs/x"), 404, "runs.not_found"));
  EXPECT_TRUE(is_problem(conversation.user.client.get("/v1/admin/runs/x"), 403, "auth.forbidden"));
}

}  // namespace
}  // namespace hostler::testing_support
