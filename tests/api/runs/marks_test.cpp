// end_user and metadata of threads and runs. Routes:
//   POST /v1/threads    PATCH /v1/threads/{thread_id}    GET /v1/threads
//   POST /v1/threads/{thread_id}/runs    POST /v1/threads/{thread_id}:retry
//   PATCH /v1/runs/{run_id}    GET /v1/runs    GET /v1/admin/runs/{run_id}
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

using Ids = std::vector<std::string>;

constexpr const char* note = R"({"metadata":{"ticket":"4711"}})";
constexpr const char* noted = R"({"ticket":"4711"})";

ApiStack& stack() { return ApiStack::shared(); }

Ids ids_in(const Answer& answer, const char* name) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  Ids ids;
  Json list = answer.json();
  for (const Json& item : *list.as_array()) ids.emplace_back(item.text_or(name));
  return ids;
}
Ids runs_in(const Answer& answer) { return ids_in(answer, "run_id"); }

// A conversation whose thread is for that end user.
TestConversation conversation_of(const std::string& end_user) {
  TestConversation conversation = make_conversation(stack());
  conversation.thread_id =
      make_thread(conversation.user.client, fmt::format(R"({{"end_user":"{}"}})", end_user));
  post_message(conversation.user.client, conversation.thread_id);
  return conversation;
}

std::string texts(size_t count, size_t length) {
  std::string members;
  for (size_t i = 0; i < count; ++i) {
    members += fmt::format(R"({}"m{}":"{}")", i == 0 ? "" : ",", i, std::string(length, 'x'));
  }
  return "{" + members + "}";
}

TEST(Marks, OfAThreadAreGivenWhenItIsMade) {
  TestUser user = register_user(stack());
  Answer made = user.client.post(
      "/v1/threads",
      R"({"end_user":"Kundin 8/ü\n","metadata":{"b":"2","a":"","\u0001[x]":"\"\n"}})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json().text_or("end_user"), "Kundin 8/ü\n");
  Json metadata = *made.json().find("metadata");
  EXPECT_EQ(metadata.text_or("b"), "2");
  EXPECT_EQ(metadata.text_or("\x01[x]"), "\"\n");
  EXPECT_EQ(metadata.as_object()->size(), 3u);
  EXPECT_EQ(user.client.get("/v1/threads/" + made.member("id")).body, made.body);
  EXPECT_EQ(user.client.get("/v1/threads").body, "[" + made.body + "]");
  for (const char* body : {"", "{}", R"({"end_user":null})", R"({"metadata":{}})"}) {
    Answer plain = user.client.post("/v1/threads", body);
    ASSERT_EQ(plain.status, 201) << plain.body;
    EXPECT_EQ(plain.member("end_user"), "null");
    EXPECT_EQ(plain.member("metadata"), "{}");
  }
}

TEST(Marks, HaveBounds) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string umlauts;
  for (int i = 0; i < 128; ++i) umlauts += "ü";
  EXPECT_EQ(client.post("/v1/threads", fmt::format(R"({{"end_user":"{}"}})", umlauts)).status, 201);
  auto refused = [&](const std::string& body, const char* field, const char* code) {
    EXPECT_TRUE(has_fault(client.post("/v1/threads", body), field, code)) << body;
    if (body.find("end_user") != body.npos) return;
    EXPECT_TRUE(has_fault(client.post(runs_of(conversation.thread_id), body), field, code)) << body;
  };
  refused(fmt::format(R"({{"end_user":"{}x"}})", umlauts), "end_user", "too_long");
  refused(R"({"end_user":""})", "end_user", "required");
  refused(R"({"end_user":7})", "end_user", "wrong_type");
  refused(R"({"metadata":null})", "metadata", "wrong_type");
  refused(R"({"metadata":["x"]})", "metadata", "wrong_type");
  refused(R"({"metadata":{"a":1}})", "metadata.a", "wrong_type");
  refused(R"({"metadata":{"a":null}})", "metadata.a", "wrong_type");
  refused(R"({"metadata":{"":"x"}})", "metadata", "too_short");
  refused(R"({"metadata":{")" + std::string(65, 'n') + R"(":"x"}})", "metadata", "too_long");
  refused(R"({"metadata":)" + texts(17, 1) + "}", "metadata", "too_long");
  refused(R"({"metadata":)" + texts(1, 513) + "}", "metadata.m0", "too_long");
  Answer two = client.post("/v1/threads", R"({"end_user":"","metadata":{"a":1,"b":[]}})");
  EXPECT_EQ(fault_count(two), 3u) << two.body;
  Answer most = client.post("/v1/threads", R"({"metadata":)" + texts(16, 512) + "}");
  EXPECT_EQ(most.status, 201) << most.body;
  EXPECT_EQ(most.member("metadata"), texts(16, 512));
}

TEST(Marks, OfAThreadChangeBesideItsTitle) {
  TestUser user = register_user(stack());
  std::string path =
      "/v1/threads/" + make_thread(user.client, R"({"title":"old","metadata":{"a":"1","b":"2"}})");
  Answer renamed = user.client.patch(path, R"({"title":"new"})");
  EXPECT_EQ(renamed.member("metadata"), R"({"a":"1","b":"2"})");
  Answer changed = user.client.patch(path, note);
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(changed.member("title"), "new");
  EXPECT_EQ(changed.member("metadata"), noted) << "whole";
  EXPECT_GE(changed.member("updated_at"), renamed.member("updated_at"));
  Answer both = user.client.patch(path, R"({"title":null,"metadata":{}})");
  EXPECT_EQ(both.member("title") + both.member("metadata"), "null{}");
  EXPECT_TRUE(has_fault(user.client.patch(path, R"({"metadata":null})"), "metadata", "wrong_type"));
}

TEST(Marks, LeaveTheEndUserAsItWas) {
  TestConversation conversation = conversation_of("anna");
  const Client& client = conversation.user.client;
  std::string run = "/v1/runs/" + start_run(client, conversation.thread_id);
  for (const std::string& path : {"/v1/threads/" + conversation.thread_id, run}) {
    Answer alone = client.patch(path, R"({"end_user":"bob"})");
    EXPECT_TRUE(is_problem(alone, 422, "validation.error")) << alone.body;
    Answer beside = client.patch(path, R"({"end_user":"bob","metadata":{"a":"b"}})");
    EXPECT_EQ(beside.status, 200) << beside.body;
    EXPECT_EQ(beside.member("end_user"), "anna");
    EXPECT_EQ(client.get(path).member("metadata"), R"({"a":"b"})");
  }
  EXPECT_EQ(client
                .post(runs_of(conversation.thread_id),
                      R"({"end_user":"bob","multitask_strategy":"enqueue"})")
                .status,
            201);
  EXPECT_EQ(runs_in(client.get("/v1/runs?end_user=bob")), Ids{});
}

TEST(Marks, OfARunAreShownWhereverItIs) {
  TestConversation conversation = conversation_of("anna");
  TestUser admin = register_admin(stack());
  const Client& client = conversation.user.client;
  std::string id = start_run(client, conversation.thread_id, note);
  std::string detail = client.get("/v1/runs/" + id).body;
  std::string shown = fmt::format(R"("end_user":"anna","metadata":{})", noted);
  EXPECT_NE(detail.find(shown), detail.npos) << detail;
  for (const std::string& path : {std::string("/v1/runs"), runs_of(conversation.thread_id),
                                  std::string("/v1/runs?end_user=anna")}) {
    std::string body = client.get(path).body;
    EXPECT_NE(body.find(shown), body.npos) << path << " " << body;
  }
  Answer to_admin = admin.client.get("/v1/admin/runs/" + id);
  EXPECT_EQ(to_admin.member("end_user"), "anna");
  EXPECT_EQ(to_admin.json().find("metadata")->text_or("ticket"), "4711");
  std::string queued =
      start_run(client, conversation.thread_id, R"({"multitask_strategy":"enqueue"})");
  Answer second = client.get("/v1/runs/" + queued);
  EXPECT_EQ(second.member("end_user"), "anna");
  EXPECT_EQ(second.member("metadata"), "{}");
  std::string other = start_run(client, conversation.thread_id,
                                R"({"multitask_strategy":"interrupt","metadata":{"a":"b"}})");
  EXPECT_EQ(client.get("/v1/runs/" + other).member("end_user"), "anna");
  EXPECT_EQ(client.get("/v1/runs/" + other).member("metadata"), R"({"a":"b"})");
}

TEST(Marks, StandInTheDataOfWebhooks) {
  TestConversation conversation = conversation_of("anna \\\"ü");
  const Client& client = conversation.user.client;
  Answer endpoint = client.post("/v1/webhook-endpoints",
                                R"({"url":"https://93.184.216.34/","events":["run.cancelled"]})");
  ASSERT_EQ(endpoint.status, 201) << endpoint.body;
  std::string plain_thread = make_thread(client);
  post_message(client, plain_thread);
  auto data_of = [&](const std::string& run_id) {
    EXPECT_EQ(client.post("/v1/runs/" + run_id + ":cancel").status, 200);
    return sql_value(stack(),
                     fmt::format("SELECT concat(d -> 'end_user', ' ', d -> 'metadata') FROM "
                                 "(SELECT body::jsonb -> 'data' AS d FROM outbox "
                                 "WHERE body LIKE '%{}%') AS o",
                                 run_id));
  };
  EXPECT_EQ(data_of(start_run(client, conversation.thread_id, note)),
            "\"anna \\\"ü\" {\"ticket\": \"4711\"}");
  EXPECT_EQ(data_of(start_run(client, plain_thread)), "null {}");
}

TEST(UpdateRun, ChangesTheMetadataInEveryState) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string id = start_run(client, conversation.thread_id, R"({"metadata":{"state":"new"}})");
  std::string path = "/v1/runs/" + id;
  for (const char* state : {"unclaimed", "owned", "completed"}) {
    if (state == std::string_view("owned")) claim_run(stack(), id);
    if (state == std::string_view("completed")) end_run(stack(), id, "completed", "answer");
    Answer changed = client.patch(path, fmt::format(R"({{"metadata":{{"state":"{}"}}}})", state));
    ASSERT_EQ(changed.status, 200) << changed.body;
    EXPECT_EQ(changed.json().find("metadata")->text_or("state"), state);
    EXPECT_EQ(client.get(path).member("metadata"), changed.member("metadata"));
  }
  EXPECT_EQ(client.get(path).member("status"), "completed");
  EXPECT_EQ(client.del("/v1/threads/" + conversation.thread_id).status, 204);
  EXPECT_EQ(client.patch(path, note).member("metadata"), noted) << "runs outlive their thread";
}

TEST(UpdateRun, IsTheCreatorsAlone) {
  TestUser boss = register_user(stack());
  TestUser member = register_user(stack());
  TestUser stranger = register_user(stack());
  TestUser admin = register_admin(stack());
  std::string work = make_workspace(stack(), boss);
  add_member(stack(), work, member, "member");
  make_model(boss);
  Client own = member.client.with_org(work);
  Answer provider = boss.client.with_org(work).post(
      "/v1/llm-providers?scope=org",
      R"({"name":"own","provider_kind":"openai","base_url":"https://93.184.216.34/v1"})");
  ASSERT_EQ(provider.status, 201) << provider.body;
  ASSERT_EQ(boss.client.with_org(work)
                .post("/v1/llm-providers/" + provider.member("id") + "/models?scope=org",
                      R"({"model":"m","is_default":true})")
                .status,
            201);
  std::string thread = make_thread(own, R"({"end_user":"anna"})");
  post_message(own, thread);
  std::string path = "/v1/runs/" + start_run(own, thread, note);
  EXPECT_TRUE(is_problem(boss.client.with_org(work).patch(path, note), 403, "policy.denied"));
  EXPECT_TRUE(is_problem(admin.client.patch(path, note), 403, "policy.denied"));
  EXPECT_TRUE(is_problem(stranger.client.patch(path, note), 404, "runs.not_found"));
  EXPECT_TRUE(is_problem(stranger.client.patch(path, R"({"metadata":1})"), 404, "runs.not_found"));
  EXPECT_TRUE(is_problem(own.patch("/v1/runs/x", note), 404, "runs.not_found"));
  EXPECT_TRUE(is_problem(stack().client().patch(path, note), 401, "auth.missing_token"));
  Client reader =
      stack().client().with_token(make_api_key(stack(), member, work, "data.runs.read"));
  EXPECT_TRUE(is_problem(reader.patch(path, note), 403, "auth.forbidden"));
  Client key = stack().client().with_token(make_api_key(stack(), member, work, "data.runs.write"));
  EXPECT_EQ(key.patch(path, note).status, 200);
}

TEST(UpdateRun, RefusesOtherBodies) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string path = "/v1/runs/" + start_run(client, conversation.thread_id);
  EXPECT_TRUE(is_problem(client.patch(path, "{"), 400, "http.bad_json"));
  EXPECT_TRUE(is_problem(client.patch(path, "{}"), 422, "validation.error"));
  EXPECT_TRUE(is_problem(client.patch(path, R"({"status":"failed"})"), 422, "validation.error"));
  EXPECT_TRUE(has_fault(client.patch(path, R"({"metadata":null})"), "metadata", "wrong_type"));
  Call call{"PATCH", path, note, "text/plain", {}};
  EXPECT_TRUE(is_problem(client.send(call), 415, "http.unsupported_media_type"));
  EXPECT_EQ(client.get(path).member("metadata"), "{}");
}

TEST(RetryRun, RepeatsTheMetadataOfTheLastRun) {
  TestConversation conversation = conversation_of("anna");
  const Client& client = conversation.user.client;
  std::string first = start_run(client, conversation.thread_id, R"({"metadata":{"n":"1"}})");
  client.patch("/v1/runs/" + first, note);
  end_run(stack(), first, "completed", "answer");
  Answer again = client.post("/v1/threads/" + conversation.thread_id + ":retry");
  ASSERT_EQ(again.status, 201) << again.body;
  Answer run = client.get("/v1/runs/" + again.member("run_id"));
  EXPECT_EQ(run.member("metadata"), noted);
  EXPECT_EQ(run.member("end_user"), "anna");
}

TEST(Marks, FilterThreadsByEndUser) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  auto thread_of = [](const TestUser& creator, const std::string& end_user) {
    return make_thread(creator.client, fmt::format(R"({{"end_user":"{}"}})", end_user));
  };
  std::string first = thread_of(user, "a b&c"), second = thread_of(user, "a b&c");
  thread_of(user, "A b&c");
  make_thread(user.client);
  thread_of(other, "a b&c");
  const std::string path = "/v1/threads?end_user=a%20b%26c";
  EXPECT_EQ(ids_in(user.client.get(path), "id"), (Ids{second, first}));
  Answer page = user.client.get(path + "&limit=1");
  EXPECT_EQ(ids_in(page, "id"), Ids{second});
  EXPECT_EQ(page.next_path(), path + "&limit=1&before=" + second);
  EXPECT_EQ(ids_in(user.client.get(page.next_path()), "id"), Ids{first});
  EXPECT_EQ(user.client.get("/v1/threads?end_user=nobody").body, "[]");
  EXPECT_TRUE(has_fault(user.client.get("/v1/threads?end_user="), "end_user", "required"));
  EXPECT_TRUE(has_fault(user.client.get("/v1/threads?end_user=" + std::string(129, 'x')),
                        "end_user", "too_long"));
  EXPECT_TRUE(
      has_fault(user.client.get("/v1/threads?end_user=a&end_user=b"), "end_user", "doubled"));
}

TEST(Marks, FilterRuns) {
  TestConversation conversation = conversation_of("anna");
  const Client& client = conversation.user.client;
  auto run = [&](const std::string& metadata, const char* status) {
    std::string id =
        start_run(client, conversation.thread_id, fmt::format(R"({{"metadata":{}}})", metadata));
    end_run(stack(), id, status);
    return id;
  };
  std::string first = run(R"({"kind":"a","[x] y":"ü&"})", "completed");
  std::string second = run(R"({"kind":"a"})", "failed");
  std::string third = run(R"({"kind":"","other":"a"})", "completed");
  auto found = [&](const std::string& query) { return runs_in(client.get("/v1/runs?" + query)); };
  EXPECT_EQ(found("metadata[kind]=a"), (Ids{second, first}));
  EXPECT_EQ(found("metadata%5Bkind%5D=a"), (Ids{second, first}));
  EXPECT_EQ(found("metadata%5bkind%5d=a&status=failed"), Ids{second});
  EXPECT_EQ(found("metadata[kind]="), Ids{third});
  EXPECT_EQ(found("metadata[kind]=A"), Ids{});
  EXPECT_EQ(found("metadata[kin]=a"), Ids{});
  EXPECT_EQ(found("metadata[[x]%20y]=%C3%BC%26"), Ids{first});
  EXPECT_EQ(found("end_user=anna"), (Ids{third, second, first}));
  EXPECT_EQ(found("end_user=anna&metadata[other]=a"), Ids{third});
  EXPECT_EQ(found("end_user=bob&metadata[other]=a"), Ids{});
  EXPECT_EQ(found("end_user=anna&status=completed"), (Ids{third, first}));
  EXPECT_EQ(found("end_user=anna&status=completed&before=" + third), Ids{first});
  for (const std::string& query :
       {std::string("metadata[kind]=a&limit=1"), std::string("end_user=anna&limit=2")}) {
    Answer page = client.get("/v1/runs?" + query);
    EXPECT_EQ(runs_in(page).size(), query.ends_with("1") ? 1u : 2u);
    Ids rest = runs_in(client.get(page.next_path()));
    EXPECT_EQ(rest, Ids{first}) << page.next_path();
    EXPECT_FALSE(client.get(page.next_path()).has_header("link"));
  }
}

TEST(Marks, RefuseFiltersThatTheyDoNotKnow) {
  TestUser user = register_user(stack());
  auto get = [&](const std::string& query) { return user.client.get("/v1/runs?" + query); };
  EXPECT_TRUE(has_fault(get("metadata[a]=1&metadata[b]=2"), "metadata", "too_long"));
  EXPECT_TRUE(has_fault(get("metadata[a]=1&metadata[a]=1"), "metadata[a]", "doubled"));
  for (const char* query : {"metadata=a", "metadata[]=a", "metadata[=a", "metadata[a=b"}) {
    EXPECT_TRUE(has_fault(get(query), "metadata", "bad_format")) << query;
  }
  EXPECT_TRUE(has_fault(get("metadata[" + std::string(65, 'x') + "]=a"), "metadata", "too_long"));
  EXPECT_TRUE(has_fault(get("metadata[a]=" + std::string(513, 'x')), "metadata[a]", "too_long"));
  EXPECT_TRUE(has_fault(get("end_user="), "end_user", "required"));
  EXPECT_TRUE(has_fault(get("metadata_of=x"), "metadata_of", "unknown"));
}

TEST(Marks, FilterOnlyWhatTheCallerMayRead) {
  TestUser boss = register_user(stack());
  TestUser member = register_user(stack());
  TestConversation elsewhere = conversation_of("anna");
  start_run(elsewhere.user.client, elsewhere.thread_id, note);
  std::string work = make_workspace(stack(), boss);
  add_member(stack(), work, member, "member");
  Ids made;
  for (const char* body : {R"({"end_user":"anna"})", R"({"end_user":"anna","is_private":true})"}) {
    for (const TestUser& creator : {boss, member}) {
      std::string thread = make_thread(creator.client.with_org(work), body);
      made.push_back(sql_value(
          stack(),
          fmt::format("INSERT INTO runs (org_id, thread_id, created_by_user_id, status, ended_at, "
                      "source, trace_id, persona_id, persona_row_id, model_id, model, "
                      "provider_kind, credential_name, end_user, metadata) SELECT '{}', '{}', "
                      "'{}', 'completed', now(), 'api', 'x', 'normal@1', uuidv7(), uuidv7(), 'm', "
                      "'openai', 'c', 'anna', '{}' RETURNING id",
                      work, thread, creator.id, noted)));
    }
  }
  for (const char* query : {"end_user=anna", "metadata[ticket]=4711",
                            "end_user=anna&metadata[ticket]=4711&status=completed"}) {
    std::string path = std::string("/v1/runs?") + query;
    EXPECT_EQ(runs_in(boss.client.with_org(work).get(path)), (Ids{made[2], made[1], made[0]}))
        << query;
    EXPECT_EQ(runs_in(member.client.with_org(work).get(path)), (Ids{made[3], made[1]})) << query;
    EXPECT_EQ(runs_in(boss.client.get(path)), Ids{}) << query;
  }
}

// So that no filter makes a list read all there is.
TEST(Marks, AreLookedForInTenThousandRunsAPage) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string oldest = start_run(client, conversation.thread_id, note);
  end_run(stack(), oldest, "completed");
  stack().sql().run_text(fmt::format(
      "INSERT INTO runs (org_id, thread_id, created_by_user_id, status, ended_at, source, "
      "trace_id, persona_id, persona_row_id, model_id, model, provider_kind, credential_name) "
      "SELECT org_id, thread_id, created_by_user_id, status, ended_at, source, trace_id, "
      "persona_id, persona_row_id, model_id, model, provider_kind, credential_name "
      "FROM runs, generate_series(1, 10003) WHERE id = '{}'",
      oldest));
  std::string newest = start_run(client, conversation.thread_id, note);
  Answer page = client.get("/v1/runs?metadata[ticket]=4711");
  EXPECT_EQ(runs_in(page), Ids{newest});
  ASSERT_TRUE(page.has_header("link"));
  Answer rest = client.get(page.next_path());
  EXPECT_EQ(runs_in(rest), Ids{oldest});
  EXPECT_FALSE(rest.has_header("link"));
  Answer none = client.get("/v1/runs?metadata[ticket]=4712");
  EXPECT_EQ(none.body, "[]");
  EXPECT_EQ(client.get(none.next_path()).body, "[]");
}

}  // namespace
}  // namespace hostler::testing_support
