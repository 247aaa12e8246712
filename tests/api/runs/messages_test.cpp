// GET /v1/threads/{thread_id}/messages, POST /v1/threads/{thread_id}/messages.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

std::string contents_of(const Answer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  std::string all;
  Json list = answer.json();
  for (const Json& item : *list.as_array()) all += std::string(item.text_or("content")) + " ";
  return all;
}

TEST(CreateMessage, AnswersTheMessage) {
  TestUser user = register_user(stack());
  std::string thread = make_thread(user.client);
  Answer made = user.client.post("/v1/threads/" + thread + "/messages",
                                 R"({"content":"one\ntwo \ud83d\ude00"})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("content"), "one\ntwo \U0001F600");
  EXPECT_EQ(made.member("role"), "user");
  EXPECT_EQ(made.member("thread_id"), thread);
  EXPECT_EQ(made.member("org_id"), user.org_id);
  EXPECT_EQ(made.member("created_by_user_id"), user.id);
  EXPECT_EQ(made.member("run_id"), "null");
  EXPECT_EQ(made.member("incomplete"), "false");
  EXPECT_EQ(user.client.get("/v1/threads/" + thread + "/messages").body, "[" + made.body + "]");
}

TEST(CreateMessage, MovesTheThreadsTime) {
  TestUser user = register_user(stack());
  std::string thread = make_thread(user.client);
  Answer made = user.client.post("/v1/threads/" + thread + "/messages", R"({"content":"x"})");
  EXPECT_EQ(user.client.get("/v1/threads/" + thread).member("updated_at"),
            made.member("created_at"));
}

TEST(CreateMessage, TakesSixtyFourKibibytesOfUtf8) {
  TestUser user = register_user(stack());
  std::string path = "/v1/threads/" + make_thread(user.client) + "/messages";
  std::string max;
  for (int i = 0; i < (64 << 10) / 2; ++i) max += "ü";
  EXPECT_EQ(user.client.post(path, fmt::format(R"({{"content":"{}"}})", max)).status, 201);
  EXPECT_TRUE(has_fault(user.client.post(path, fmt::format(R"({{"content":"{}x"}})", max)),
                        "content", "too_long"));
  EXPECT_TRUE(has_fault(user.client.post(path, R"({"content":""})"), "content", "required"));
  EXPECT_TRUE(has_fault(user.client.post(path, "{}"), "content", "required"));
  EXPECT_TRUE(has_fault(user.client.post(path, R"({"content":["x"]})"), "content", "wrong_type"));
}

TEST(CreateMessage, RefusesWhiteSpaceAlone) {
  TestUser user = register_user(stack());
  std::string path = "/v1/threads/" + make_thread(user.client) + "/messages";
  for (const char* blank : {" ", R"(\n\t)", R"(\u00a0)", R"(\u2003\u2028\u3000)"}) {
    Answer answer = user.client.post(path, fmt::format(R"({{"content":"{}"}})", blank));
    EXPECT_TRUE(has_fault(answer, "content", "required")) << blank << answer.body;
  }
  EXPECT_EQ(user.client.post(path, R"({"content":" . "})").member("content"), " . ");
}

TEST(CreateMessage, IsAllowedDuringARun) {
  TestConversation conversation = make_conversation(stack());
  start_run(conversation.user.client, conversation.thread_id);
  EXPECT_NE(post_message(conversation.user.client, conversation.thread_id, "one more"), "");
}

TEST(Messages, AreReadFromTheNewestBackInAscendingPages) {
  TestUser user = register_user(stack());
  std::string thread = make_thread(user.client);
  std::string path = "/v1/threads/" + thread + "/messages";
  std::vector<std::string> ids;
  for (const char* content : {"a", "b", "c", "d", "e"}) {
    ids.push_back(post_message(user.client, thread, content));
  }
  EXPECT_EQ(contents_of(user.client.get(path)), "a b c d e ");
  Answer newest = user.client.get(path + "?limit=2");
  EXPECT_EQ(contents_of(newest), "d e ");
  EXPECT_EQ(newest.next_path(), path + "?limit=2&before=" + ids[3]);
  Answer middle = user.client.get(newest.next_path());
  EXPECT_EQ(contents_of(middle), "b c ");
  Answer oldest = user.client.get(middle.next_path());
  EXPECT_EQ(contents_of(oldest), "a ");
  EXPECT_FALSE(oldest.has_header("link"));
}

TEST(Messages, AreReadOnwardFromOne) {
  TestUser user = register_user(stack());
  std::string thread = make_thread(user.client);
  std::string path = "/v1/threads/" + thread + "/messages";
  std::vector<std::string> ids;
  for (const char* content : {"a", "b", "c", "d"}) {
    ids.push_back(post_message(user.client, thread, content));
  }
  Answer page = user.client.get(path + "?limit=2&after=" + ids[0]);
  EXPECT_EQ(contents_of(page), "b c ");
  EXPECT_EQ(page.next_path(), path + "?limit=2&after=" + ids[2]);
  EXPECT_EQ(contents_of(user.client.get(page.next_path())), "d ");
  EXPECT_EQ(contents_of(user.client.get(path + "?after=" + ids[3])), "");
  EXPECT_EQ(contents_of(user.client.get(path + "?after=" + ids[0] + "&before=" + ids[3])), "b c ");
  EXPECT_TRUE(has_fault(user.client.get(path + "?after=x"), "after", "bad_format"));
}

TEST(Messages, EndAPageAtFourMebibytes) {
  TestUser user = register_user(stack());
  std::string thread = make_thread(user.client);
  std::string path = "/v1/threads/" + thread + "/messages";
  stack().sql().run_text(fmt::format(
      "INSERT INTO messages (org_id, thread_id, role, content) SELECT '{}', '{}', 'assistant', "
      "repeat('x', 1500000) FROM generate_series(1, 5)",
      user.org_id, thread));
  size_t seen = 0;
  for (std::string next = path; !next.empty();) {
    Answer page = user.client.get(next);
    size_t count = page.json().as_array()->size();
    EXPECT_LE(count, 2u);
    EXPECT_GE(count, 1u);
    seen += count;
    next = page.next_path();
  }
  EXPECT_EQ(seen, 5u);
}

TEST(Messages, ThatFillMoreThanAPageAreReadInBothDirections) {
  TestUser user = register_user(stack());
  std::string thread = make_thread(user.client);
  std::string path = "/v1/threads/" + thread + "/messages";
  std::string first = post_message(user.client, thread, "first");
  for (int bytes : {5'000'000, 3'000'000, 1'000'000, 5'000'000}) {
    stack().sql().run_text(
        fmt::format("INSERT INTO messages (org_id, thread_id, role, content) VALUES ('{}', '{}', "
                    "'assistant', repeat('x', {}))",
                    user.org_id, thread, bytes));
  }
  auto sizes = [&](std::string next) {
    std::string all;
    while (!next.empty()) {
      Answer page = user.client.get(next);
      Json list = page.json();
      for (const Json& item : *list.as_array()) {
        all += fmt::format("{} ", item.text_or("content").size());
      }
      all += "; ";
      next = page.next_path();
    }
    return all;
  };
  EXPECT_EQ(sizes(path + "?after=" + first), "5000000 ; 3000000 1000000 ; 5000000 ; ");
  EXPECT_EQ(sizes(path), "5000000 ; 3000000 1000000 ; 5000000 ; 5 ; ");
}

TEST(Messages, AreTheCreatorsAlone) {
  TestUser owner = register_user(stack());
  TestUser member = register_user(stack());
  TestUser stranger = register_user(stack());
  std::string work = make_workspace(stack(), owner);
  add_member(stack(), work, member, "member");
  std::string path = "/v1/threads/" + make_thread(member.client.with_org(work)) + "/messages";
  Client boss = owner.client.with_org(work);
  EXPECT_TRUE(is_problem(boss.get(path), 403, "policy.denied"));
  EXPECT_TRUE(is_problem(boss.post(path, R"({"content":"x"})"), 403, "policy.denied"));
  EXPECT_TRUE(is_problem(boss.post(path, "{"), 403, "policy.denied"));
  EXPECT_TRUE(is_problem(stranger.client.get(path), 404, "threads.not_found"));
  EXPECT_TRUE(is_problem(stranger.client.get(path + "?limit=0"), 404, "threads.not_found"));
  EXPECT_TRUE(
      is_problem(stranger.client.post(path, R"({"content":"x"})"), 404, "threads.not_found"));
  Client reader =
      stack().client().with_token(make_api_key(stack(), member, work, "data.threads.read"));
  EXPECT_EQ(reader.get(path).body, "[]");
  EXPECT_TRUE(is_problem(reader.post(path, R"({"content":"x"})"), 403, "auth.forbidden"));
}

}  // namespace
}  // namespace hostler::testing_support
