// POST /v1/threads/{thread_id}:branch.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

std::string branch_path(const std::string& thread_id) {
  return "/v1/threads/" + thread_id + ":branch";
}

std::string edit(const std::string& message_id, std::string_view content) {
  return fmt::format(R"({{"message_id":"{}","content":"{}"}})", message_id, content);
}

// The messages of a thread as role:content.
std::string messages_in(const Client& client, const std::string& thread_id) {
  Json list = client.get("/v1/threads/" + thread_id + "/messages").json();
  std::string all;
  for (const Json& message : *list.as_array()) {
    all += fmt::format("{}:{} ", message.text_or("role"), message.text_or("content"));
  }
  return all;
}

int64_t stored_bytes(const TestUser& user) {
  return sql_number(stack(), fmt::format("SELECT stored_bytes FROM credit_accounts WHERE org_id = "
                                         "'{}'",
                                         user.org_id));
}

class BranchThread : public testing::Test {
 protected:
  BranchThread() : user_(register_user(stack())) {
    make_model(user_);
    thread_id_ = make_thread(user_.client, R"({"title":"Trip to Graz","is_private":true,)"
                                           R"("end_user":"eve","metadata":{"ticket":"4711"}})");
    first_ = post_message(user_.client, thread_id_, "first");
    end_run(stack(), start_run(user_.client, thread_id_), "completed", "answer");
    second_ = post_message(user_.client, thread_id_, "second");
    post_message(user_.client, thread_id_, "third");
  }

  TestUser user_;
  std::string thread_id_, first_, second_;
};

TEST_F(BranchThread, CopiesWhatComesBeforeAndKeepsTheOldThread) {
  std::string before = messages_in(user_.client, thread_id_);
  int64_t bytes = stored_bytes(user_);
  Answer made = user_.client.post(branch_path(thread_id_), edit(second_, "other"));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_NE(made.member("id"), thread_id_);
  EXPECT_EQ(made.member("title") + made.member("is_private") + made.member("end_user"),
            "Trip to Graztrueeve");
  EXPECT_EQ(made.member("metadata"), R"({"ticket":"4711"})");
  EXPECT_EQ(made.member("active_run_id"), "null");
  EXPECT_EQ(user_.client.get("/v1/threads/" + made.member("id")).body, made.body);
  EXPECT_EQ(messages_in(user_.client, made.member("id")),
            "user:first assistant:answer user:other ");
  EXPECT_EQ(messages_in(user_.client, thread_id_), before);
  EXPECT_EQ(stored_bytes(user_) - bytes, 16) << "what is copied, and the new text";
  EXPECT_NE(user_.client.get("/v1/threads/search?q=other").body, "[]");
  EXPECT_EQ(user_.client.post(runs_of(made.member("id")), "{}").status, 201);
}

TEST_F(BranchThread, MayBeginWithTheNewText) {
  Answer made = user_.client.post(branch_path(thread_id_), edit(first_, "other"));
  EXPECT_EQ(messages_in(user_.client, made.member("id")), "user:other ");
  std::string further = post_message(user_.client, made.member("id"), "further");
  Answer again = user_.client.post(branch_path(made.member("id")), edit(further, "last"));
  EXPECT_EQ(messages_in(user_.client, again.member("id")), "user:other user:last ");
}

TEST_F(BranchThread, OutlivesTheOldThread) {
  Answer made = user_.client.post(branch_path(thread_id_), edit(second_, "other"));
  EXPECT_EQ(user_.client.del("/v1/threads/" + thread_id_).status, 204);
  EXPECT_EQ(messages_in(user_.client, made.member("id")),
            "user:first assistant:answer user:other ");
  EXPECT_TRUE(is_problem(user_.client.post(branch_path(thread_id_), edit(second_, "other")), 404,
                         "threads.not_found"));
}

TEST_F(BranchThread, RefusesOtherMessages) {
  auto refused = [&](const std::string& id, const char* code) {
    Answer answer = user_.client.post(branch_path(thread_id_), edit(id, "other"));
    return bool(has_fault(answer, "message_id", code));
  };
  Json list = user_.client.get("/v1/threads/" + thread_id_ + "/messages").json();
  std::string answer_id(list.as_array()->at(1).text_or("id"));
  EXPECT_TRUE(refused(answer_id, "out_of_range")) << "of the assistant";
  std::string elsewhere = post_message(user_.client, make_thread(user_.client), "x");
  EXPECT_TRUE(refused(elsewhere, "unknown"));
  EXPECT_TRUE(refused("01a1fa43-8dcd-7506-ab81-ef7a33b2be1a", "unknown"));
  EXPECT_TRUE(refused("x", "bad_format"));
  Answer empty = user_.client.post(branch_path(thread_id_), "{}");
  EXPECT_TRUE(has_fault(empty, "message_id", "required"));
  EXPECT_TRUE(has_fault(empty, "content", "required"));
  EXPECT_TRUE(has_fault(user_.client.post(branch_path(thread_id_), edit(second_, " ")), "content",
                        "required"));
}

TEST_F(BranchThread, IsForTheThreadsCreator) {
  TestUser other = register_user(stack());
  std::string work = make_workspace(stack(), user_);
  add_member(stack(), work, other, "admin");
  Client at_work = user_.client.with_org(work);
  std::string thread_id = make_thread(at_work);
  std::string message_id = post_message(at_work, thread_id, "x");
  std::string body = edit(message_id, "y");
  EXPECT_TRUE(is_problem(other.client.with_org(work).post(branch_path(thread_id), body), 403,
                         "policy.denied"));
  EXPECT_TRUE(
      is_problem(other.client.post(branch_path(thread_id), body), 404, "threads.not_found"));
  Client reader =
      stack().client().with_token(make_api_key(stack(), user_, work, "data.threads.read"));
  EXPECT_TRUE(is_problem(reader.post(branch_path(thread_id), body), 403, "auth.forbidden"));
  EXPECT_EQ(at_work.post(branch_path(thread_id), body).status, 201);
}

TEST_F(BranchThread, IsMadeOnceByOneKey) {
  Call call{"POST",
            branch_path(thread_id_),
            edit(second_, "other"),
            "application/json",
            {{"Idempotency-Key", new_name("key")}}};
  Answer made = user_.client.send(call);
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(user_.client.send(call).body, made.body);
  EXPECT_EQ(user_.client.get("/v1/threads").json().as_array()->size(), 2u);
}

TEST_F(BranchThread, HasRoomInTheOrganization) {
  sql_value(stack(),
            fmt::format("INSERT INTO entitlement_overrides (org_id, key, value, value_type, "
                        "created_by_user_id) VALUES ('{}', 'limit.stored_bytes', '{}', "
                        "'integer', '{}') RETURNING 1",
                        user_.org_id, stored_bytes(user_) + 15, user_.id));
  EXPECT_TRUE(is_problem(user_.client.post(branch_path(thread_id_), edit(second_, "other")), 422,
                         "limits.reached"));
  EXPECT_EQ(user_.client.get("/v1/threads").json().as_array()->size(), 1u) << "nothing is left";
  EXPECT_EQ(user_.client.post(branch_path(thread_id_), edit(second_, "four")).status, 201);
}

}  // namespace
}  // namespace hostler::testing_support
