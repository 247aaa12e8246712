// GET /v1/threads, POST /v1/threads, GET /v1/threads/search, GET /v1/threads/{thread_id},
// PATCH /v1/threads/{thread_id}, DELETE /v1/threads/{thread_id}.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

std::vector<std::string> ids_in(const Answer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  std::vector<std::string> ids;
  Json list = answer.json();
  for (const Json& item : *list.as_array()) ids.emplace_back(item.text_or("id"));
  return ids;
}

using Ids = std::vector<std::string>;

TEST(CreateThread, AnswersTheThread) {
  TestUser user = register_user(stack());
  Answer made = user.client.post("/v1/threads", R"({"title":"Trip to Graz","is_private":true})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("title"), "Trip to Graz");
  EXPECT_EQ(made.member("is_private"), "true");
  EXPECT_EQ(made.member("org_id"), user.org_id);
  EXPECT_EQ(made.member("created_by_user_id"), user.id);
  EXPECT_EQ(made.member("active_run_id"), "null");
  EXPECT_EQ(made.member("created_at"), made.member("updated_at"));
  EXPECT_EQ(user.client.get("/v1/threads/" + made.member("id")).body, made.body);
}

TEST(CreateThread, NeedsNoMember) {
  TestUser user = register_user(stack());
  Answer made = user.client.post("/v1/threads", R"({"title":null})");
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.member("title"), "null");
  EXPECT_EQ(made.member("is_private"), "false");
}

TEST(CreateThread, KnowsTheBoundsOfATitle) {
  TestUser user = register_user(stack());
  std::string umlauts;
  for (int i = 0; i < 200; ++i) umlauts += "ü";
  EXPECT_EQ(user.client.post("/v1/threads", fmt::format(R"({{"title":"{}"}})", umlauts)).status,
            201);
  Answer answer = user.client.post("/v1/threads",
                                   fmt::format(R"({{"title":"{}x","is_private":"yes"}})", umlauts));
  EXPECT_TRUE(has_fault(answer, "title", "too_long"));
  EXPECT_TRUE(has_fault(answer, "is_private", "wrong_type"));
}

TEST(Threads, AreListedNewestFirstPageByPage) {
  TestUser user = register_user(stack());
  std::string first = make_thread(user.client), second = make_thread(user.client),
              third = make_thread(user.client);
  Answer whole = user.client.get("/v1/threads");
  EXPECT_EQ(ids_in(whole), (Ids{third, second, first}));
  EXPECT_FALSE(whole.has_header("link"));
  Answer page = user.client.get("/v1/threads?limit=2");
  EXPECT_EQ(ids_in(page), (Ids{third, second}));
  EXPECT_EQ(page.header("link"), "</v1/threads?limit=2&before=" + second + ">; rel=\"next\"");
  Answer rest = user.client.get(page.next_path());
  EXPECT_EQ(ids_in(rest), Ids{first});
  EXPECT_FALSE(rest.has_header("link"));
  EXPECT_FALSE(user.client.get("/v1/threads?limit=3").has_header("link"));
  EXPECT_EQ(ids_in(user.client.get("/v1/threads?before=" + first)), Ids{});
}

// nginx has room for a Link with whatever query it takes, in escapes.
TEST(Threads, AreNotListedByALongUnknownParameter) {
  TestUser user = register_user(stack());
  for (const std::string& text : {std::string(7900, 'a'), std::string(7900, '<')}) {
    Answer page = user.client.get("/v1/threads?limit=1&unknown=" + text);
    EXPECT_TRUE(is_problem(page, 422, "validation.error"));
  }
}

TEST(Threads, OfOthersAreNeitherListedNorFound) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  std::string path = "/v1/threads/" + make_thread(user.client);
  EXPECT_EQ(other.client.get("/v1/threads").body, "[]");
  EXPECT_TRUE(is_problem(other.client.get(path), 404, "threads.not_found"));
  EXPECT_TRUE(is_problem(other.client.patch(path, R"({"title":"x"})"), 404, "threads.not_found"));
  EXPECT_TRUE(is_problem(other.client.del(path), 404, "threads.not_found"));
  EXPECT_TRUE(is_problem(other.client.with_org(user.org_id).get(path), 404, "orgs.not_found"));
  EXPECT_EQ(user.client.get(path).member("title"), "null");
}

TEST(Threads, OfOthersInTheOrganizationAreDenied) {
  TestUser owner = register_user(stack());
  TestUser member = register_user(stack());
  std::string work = make_workspace(stack(), owner);
  add_member(stack(), work, member, "member");
  std::string path = "/v1/threads/" + make_thread(member.client.with_org(work));
  Client boss = owner.client.with_org(work);
  EXPECT_EQ(boss.get("/v1/threads").body, "[]");
  EXPECT_TRUE(is_problem(boss.get(path), 403, "policy.denied"));
  EXPECT_TRUE(is_problem(boss.patch(path, R"({"title":"x"})"), 403, "policy.denied"));
  EXPECT_TRUE(is_problem(boss.del(path), 403, "policy.denied"));
  EXPECT_EQ(member.client.with_org(work).get(path).status, 200);
}

TEST(Threads, OfAnotherOrganizationOfTheCallerSayWhere) {
  TestUser user = register_user(stack());
  std::string work = make_workspace(stack(), user);
  std::string path = "/v1/threads/" + make_thread(user.client.with_org(work));
  Answer answer = user.client.get(path);
  EXPECT_TRUE(is_problem(answer, 404, "threads.not_found"));
  EXPECT_NE(answer.member("detail").find("X-Org-Id: " + work), std::string::npos);
}

TEST(Threads, NeedTheirPermissions) {
  TestUser user = register_user(stack());
  std::string path = "/v1/threads/" + make_thread(user.client);
  Client reader =
      stack().client().with_token(make_api_key(stack(), user, user.org_id, "data.threads.read"));
  Client writer =
      stack().client().with_token(make_api_key(stack(), user, user.org_id, "data.threads.write"));
  EXPECT_EQ(reader.get("/v1/threads").status, 200);
  EXPECT_EQ(reader.get(path).status, 200);
  EXPECT_EQ(reader.get("/v1/threads/search?q=x").status, 200);
  EXPECT_TRUE(is_problem(writer.get("/v1/threads"), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(writer.get(path), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(writer.get("/v1/threads/search?q=x"), 403, "auth.forbidden"));
  EXPECT_EQ(writer.post("/v1/threads", "{}").status, 201);
  EXPECT_EQ(writer.patch(path, R"({"title":"x"})").status, 200);
  EXPECT_TRUE(is_problem(reader.post("/v1/threads", "{}"), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(reader.del(path), 403, "auth.forbidden"));
  EXPECT_EQ(writer.del(path).status, 204);
}

TEST(UpdateThread, ChangesAndClearsTheTitle) {
  TestUser user = register_user(stack());
  std::string path = "/v1/threads/" + make_thread(user.client, R"({"title":"old"})");
  Answer before = user.client.get(path);
  Answer renamed = user.client.patch(path, R"({"title":"new"})");
  EXPECT_EQ(renamed.status, 200);
  EXPECT_EQ(renamed.member("title"), "new");
  EXPECT_GE(renamed.member("updated_at"), before.member("updated_at"));
  EXPECT_EQ(user.client.patch(path, R"({"title":null})").member("title"), "null");
  EXPECT_TRUE(has_fault(user.client.patch(path, R"({"title":7})"), "title", "wrong_type"));
  EXPECT_TRUE(
      is_problem(user.client.patch(path, R"({"is_private":true})"), 422, "validation.error"));
}

TEST(UpdateThread, PinsAndArchives) {
  TestUser user = register_user(stack());
  Answer made = user.client.post("/v1/threads", R"({"title":"old","metadata":{"a":"b"}})");
  EXPECT_EQ(made.member("is_pinned") + made.member("is_archived"), "falsefalse");
  std::string path = "/v1/threads/" + made.member("id");
  Answer pinned = user.client.patch(path, R"({"is_pinned":true})");
  EXPECT_EQ(pinned.status, 200);
  EXPECT_EQ(pinned.member("is_pinned") + pinned.member("is_archived"), "truefalse");
  EXPECT_EQ(pinned.member("title") + pinned.member("metadata"), R"(old{"a":"b"})");
  Answer archived = user.client.patch(path, R"({"is_archived":true,"title":"new"})");
  EXPECT_EQ(archived.member("is_pinned") + archived.member("is_archived"), "truetrue");
  EXPECT_EQ(archived.member("title"), "new");
  EXPECT_EQ(user.client.get(path).body, archived.body);
  Answer back = user.client.patch(path, R"({"is_pinned":false,"is_archived":false})");
  EXPECT_EQ(back.member("is_pinned") + back.member("is_archived"), "falsefalse");
  for (const char* mark : {"is_pinned", "is_archived"}) {
    for (const char* value : {"null", "1", "\"true\""}) {
      Answer refused = user.client.patch(path, fmt::format(R"({{"{}":{}}})", mark, value));
      EXPECT_TRUE(has_fault(refused, mark, "wrong_type")) << value;
    }
  }
}

TEST(Threads, AreListedByTheirMarks) {
  TestUser user = register_user(stack());
  auto marked = [&](const char* marks) {
    std::string id = make_thread(user.client, R"({"end_user":"eve"})");
    EXPECT_EQ(user.client.patch("/v1/threads/" + id, marks).status, 200);
    return id;
  };
  std::string plain = marked(R"({"title":"plain"})");
  std::string pinned = marked(R"({"title":"graz","is_pinned":true})");
  std::string archived = marked(R"({"title":"graz","is_archived":true})");
  std::string both = marked(R"({"is_pinned":true,"is_archived":true})");
  std::string newest = make_thread(user.client);
  auto listed = [&](const std::string& query) {
    return ids_in(user.client.get("/v1/threads?" + query));
  };
  EXPECT_EQ(ids_in(user.client.get("/v1/threads")), (Ids{newest, pinned, plain}));
  EXPECT_EQ(listed("is_archived=false"), (Ids{newest, pinned, plain}));
  EXPECT_EQ(listed("is_archived=true"), (Ids{both, archived}));
  EXPECT_EQ(listed("is_pinned=true"), Ids{pinned});
  EXPECT_EQ(listed("is_pinned=false"), (Ids{newest, plain}));
  EXPECT_EQ(listed("is_pinned=true&is_archived=true"), Ids{both});
  EXPECT_EQ(listed("end_user=eve"), (Ids{pinned, plain}));
  EXPECT_EQ(listed("end_user=eve&is_archived=true"), (Ids{both, archived}));
  EXPECT_EQ(listed("end_user=eve&is_archived=true&is_pinned=false"), Ids{archived});
  EXPECT_EQ(ids_in(user.client.get("/v1/threads/search?q=graz")), (Ids{archived, pinned}));
  Answer page = user.client.get("/v1/threads?is_archived=true&limit=1");
  EXPECT_EQ(ids_in(page), Ids{both});
  EXPECT_EQ(ids_in(user.client.get(page.next_path())), Ids{archived});
  EXPECT_TRUE(has_fault(user.client.get("/v1/threads?is_archived=x"), "is_archived", "wrong_type"));
}

TEST(Threads, ThatAreArchivedWorkAsBefore) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string path = "/v1/threads/" + conversation.thread_id;
  EXPECT_EQ(client.patch(path, R"({"is_archived":true})").status, 200);
  EXPECT_EQ(client.post(path + "/messages", R"({"content":"x"})").status, 201);
  EXPECT_EQ(client.post(path + "/runs", "{}").status, 201);
  EXPECT_EQ(client.get(path).member("is_archived"), "true");
}

TEST(DeleteThread, MakesThreadAndMessagesUnknown) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string path = "/v1/threads/" + conversation.thread_id;
  Answer answer = client.del(path);
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(answer.body, "");
  EXPECT_TRUE(is_problem(client.del(path), 404, "threads.not_found"));
  EXPECT_TRUE(is_problem(client.get(path), 404, "threads.not_found"));
  EXPECT_TRUE(is_problem(client.get(path + "/messages"), 404, "threads.not_found"));
  EXPECT_TRUE(
      is_problem(client.post(path + "/messages", R"({"content":"x"})"), 404, "threads.not_found"));
  EXPECT_TRUE(is_problem(client.post(path + "/runs", "{}"), 404, "threads.not_found"));
  EXPECT_EQ(client.get("/v1/threads").body, "[]");
  EXPECT_EQ(client.get("/v1/threads/search?q=hello").body, "[]");
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM audit_logs WHERE action = "
                                            "'threads.delete' AND target_id = '{}'",
                                            conversation.thread_id)),
            1);
}

TEST(DeleteThread, CancelsItsRunsButKeepsThemInTheList) {
  TestConversation conversation = make_conversation(stack());
  std::string run = start_run(conversation.user.client, conversation.thread_id);
  std::string queued = start_run(conversation.user.client, conversation.thread_id,
                                 R"({"multitask_strategy":"enqueue"})");
  EXPECT_EQ(conversation.user.client.del("/v1/threads/" + conversation.thread_id).status, 204);
  for (const std::string& id : {run, queued}) {
    EXPECT_EQ(conversation.user.client.get("/v1/runs/" + id).member("status"), "cancelled");
  }
  Json list = conversation.user.client.get("/v1/runs").json();
  EXPECT_EQ(list.as_array()->size(), 2u);
}

TEST(SearchThreads, FindsTitlesAndMessagesByBeginningsOfWordsInAnyCase) {
  TestUser user = register_user(stack());
  std::string titled = make_thread(user.client, R"({"title":"Weekend in Graz"})");
  std::string stated = make_thread(user.client);
  post_message(user.client, stated, "The clock tower of GRAZ, please");
  std::string chinese = make_thread(user.client);
  post_message(user.client, chinese, "我想去北京旅游");
  make_thread(user.client, R"({"title":"Something else"})");
  auto found = [&](const std::string& q) {
    return ids_in(user.client.get("/v1/threads/search?q=" + q));
  };
  EXPECT_EQ(found("graz"), (Ids{stated, titled}));
  EXPECT_EQ(found("gra"), (Ids{stated, titled}));
  EXPECT_EQ(found("tower%20clock"), Ids{stated});
  EXPECT_EQ(found("graz%20else"), Ids{});
  EXPECT_EQ(found("%E5%8C%97%E4%BA%AC"), Ids{chinese});
  EXPECT_EQ(found("%E4%BA%AC%E6%97%85"), Ids{chinese});
  EXPECT_EQ(found("!!!"), Ids{});
  EXPECT_EQ(found("'%20%7C%20:*%20%26%20%5C"), Ids{});
  Answer page = user.client.get("/v1/threads/search?q=graz&limit=1");
  EXPECT_EQ(ids_in(page), Ids{stated});
  EXPECT_EQ(ids_in(user.client.get(page.next_path())), Ids{titled});
}

TEST(SearchThreads, TakesShortWordsWholeAndEightAtMost) {
  TestUser user = register_user(stack());
  std::string titled =
      make_thread(user.client, R"({"title":"ox and cow at the old red barn by me"})");
  auto found = [&](const std::string& q) {
    return ids_in(user.client.get("/v1/threads/search?q=" + q));
  };
  EXPECT_EQ(found("ox"), Ids{titled});
  EXPECT_EQ(found("o"), Ids{}) << "words that begin with a letter are too many";
  EXPECT_EQ(found("ba"), Ids{});
  EXPECT_EQ(found("bar"), Ids{titled});
  EXPECT_EQ(found("ox+and+cow+at+the+old+red+barn+nowhere"), Ids{titled}) << "the ninth";
  EXPECT_EQ(found("ox+and+cow+at+the+old+red+nowhere"), Ids{});
  std::string chinese = make_thread(user.client);
  post_message(user.client, chinese, "北京旅游");
  EXPECT_EQ(found("%E5%8C%97"), Ids{chinese}) << "one character";
}

TEST(SearchThreads, FindsWordsInPathsAndAddressesAndFarInLongMessages) {
  TestUser user = register_user(stack());
  std::string thread = make_thread(user.client, R"({"title":"About foo-bar_baz"})");
  post_message(user.client, thread, "It is /etc/nginx/nginx.conf, see https://example.org/guide");
  std::string padding;
  while (padding.size() < 40'000) padding += "again and again ";
  post_message(user.client, thread, padding + "needle");
  for (const char* q :
       {"bar", "baz", "nginx", "%2Fnginx%2Fnginx.conf", "example.org%2Fgui", "needle"}) {
    EXPECT_EQ(ids_in(user.client.get(std::string("/v1/threads/search?q=") + q)), Ids{thread}) << q;
  }
  user.client.patch("/v1/threads/" + thread, R"({"title":"Else"})");
  EXPECT_EQ(user.client.get("/v1/threads/search?q=baz").body, "[]");
  EXPECT_EQ(ids_in(user.client.get("/v1/threads/search?q=else")), Ids{thread});
  user.client.patch("/v1/threads/" + thread, R"({"metadata":{"a":"b"}})");
  EXPECT_EQ(ids_in(user.client.get("/v1/threads/search?q=else")), Ids{thread});
}

TEST(SearchThreads, StaysWithTheCallersOwn) {
  TestUser owner = register_user(stack());
  TestUser member = register_user(stack());
  std::string work = make_workspace(stack(), owner);
  add_member(stack(), work, member, "admin");
  std::string word = new_name("secret");
  make_thread(owner.client.with_org(work), fmt::format(R"({{"title":"{}"}})", word));
  EXPECT_EQ(
      owner.client.with_org(work).get("/v1/threads/search?q=" + word).json().as_array()->size(),
      1u);
  EXPECT_EQ(member.client.with_org(work).get("/v1/threads/search?q=" + word).body, "[]");
  EXPECT_EQ(owner.client.get("/v1/threads/search?q=" + word).body, "[]");
}

TEST(SearchThreads, AsksForSomethingToLookFor) {
  TestUser user = register_user(stack());
  EXPECT_TRUE(has_fault(user.client.get("/v1/threads/search"), "q", "required"));
  EXPECT_TRUE(has_fault(user.client.get("/v1/threads/search?q="), "q", "required"));
  EXPECT_TRUE(
      has_fault(user.client.get("/v1/threads/search?q=" + std::string(501, 'x')), "q", "too_long"));
}

}  // namespace
}  // namespace hostler::testing_support
