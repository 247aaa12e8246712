// Conversations in OpenAI's form: threads under another name. Their content is tested by
// tests/api/openai/response_life_test.cpp.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr const char* route = "/v1/openai/conversations";

ApiStack& stack() { return runner_stack(); }

std::string path_of(std::string_view id) { return fmt::format("{}/{}", route, id); }

// POST /v1/openai/conversations
TEST(Conversations, AreThreads) {
  TestUser user = register_user(stack());
  Answer made = user.client.post(route, R"({"metadata":{"topic":"a"}})");
  ASSERT_EQ(made.status, 200) << made.body;
  std::string id = made.member("id");
  EXPECT_EQ(made.member("object"), "conversation");
  EXPECT_EQ(made.member("metadata"), R"({"topic":"a"})");
  EXPECT_GT(made.json().integer_or("created_at", 0), 1'700'000'000);
  Answer thread = user.client.get("/v1/threads/" + id.substr(5));
  EXPECT_EQ(thread.member("metadata"), R"({"topic":"a"})");
  Answer response = user.client.post(
      "/v1/openai/responses",
      fmt::format(R"({{"model":"normal","input":"[say hello]","conversation":"{}"}})", id));
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.member("conversation"), fmt::format(R"({{"id":"{}"}})", id));
  EXPECT_EQ(user.client.post(std::string("/v1/openai/v1/conversations"), "").status, 200);
  EXPECT_EQ(user.client.post(route, R"({"metadata":null,"items":[]})").member("metadata"), "{}");
}

// GET, POST and DELETE /v1/openai/conversations/{conversation}
TEST(Conversations, AreShownChangedAndDeleted) {
  TestUser user = register_user(stack());
  std::string id = user.client.post(route, R"({"metadata":{"a":"b"}})").member("id");
  EXPECT_EQ(user.client.get(path_of(id)).member("id"), id);
  Answer changed = user.client.post(path_of(id), R"({"metadata":{"c":"d"}})");
  EXPECT_EQ(changed.member("metadata"), R"({"c":"d"})") << changed.body;
  EXPECT_EQ(user.client.get(path_of(id)).body, changed.body);
  Answer deleted = user.client.del(path_of(id));
  EXPECT_EQ(deleted.body,
            fmt::format(R"({{"id":"{}","object":"conversation.deleted","deleted":true}})", id));
  EXPECT_TRUE(is_problem(user.client.get(path_of(id)), 404, "threads.not_found"));
  EXPECT_TRUE(is_problem(user.client.del(path_of(id)), 404, "threads.not_found"));
}

// GET /v1/threads/search. A response that goes on from one that is no longer the newest has a copy.
TEST(Conversations, AreFoundByWhatResponsesWereGivenAndSaid) {
  TestUser user = register_user(stack());
  auto respond = [&](const std::string& further) {
    Answer made = user.client.post("/v1/openai/responses", R"({"model":"normal",)" + further + "}");
    EXPECT_EQ(made.status, 200) << made.body;
    return made.member("id");
  };
  auto found = [&](const std::string& q) {
    return user.client.get("/v1/threads/search?q=" + q).json().as_array()->size();
  };
  std::string first = respond(
      R"("input":[{"role":"system","content":"hush"},{"role":"user","content":"[say quay]"}])");
  EXPECT_EQ(found("quay"), 1u);
  EXPECT_EQ(found("hush"), 0u);
  std::string behind = fmt::format(R"("previous_response_id":"{}",)", first);
  respond(behind + R"("input":"[say pier]")");
  EXPECT_EQ(found("pier"), 1u);
  respond(behind + R"("input":"[say mole]")");
  EXPECT_EQ(found("quay"), 2u);
  EXPECT_EQ(found("mole"), 1u);
}

TEST(Conversations, RefuseWhatIsNone) {
  TestUser user = register_user(stack());
  std::string id = user.client.post(route, "{}").member("id");
  for (const char* body : {R"({"metadata":{"a":1}})", R"({"metadata":7})"}) {
    EXPECT_TRUE(is_problem(user.client.post(route, body), 400, "validation.error")) << body;
    EXPECT_TRUE(is_problem(user.client.post(path_of(id), body), 400, "validation.error")) << body;
  }
  EXPECT_TRUE(is_problem(user.client.post(path_of(id), "{}"), 400, "validation.error"));
  constexpr const char* items = R"({"items":[{"role":"user","content":"hello"}]})";
  EXPECT_TRUE(is_problem(user.client.post(route, items), 400, "unsupported_parameter"));
  for (const char* none : {"x", "conv_x", "conv_01a1fa43-8dcd-7506-ab81-ef7a33b2be1a"}) {
    EXPECT_TRUE(is_problem(user.client.get(path_of(none)), 404, "threads.not_found")) << none;
    EXPECT_TRUE(is_problem(user.client.post(path_of(none), "{}"), 404, "threads.not_found"));
    EXPECT_TRUE(is_problem(user.client.del(path_of(none)), 404, "threads.not_found")) << none;
  }
  TestUser other = register_user(stack());
  EXPECT_TRUE(is_problem(other.client.get(path_of(id)), 404, "threads.not_found"));
  EXPECT_TRUE(is_problem(stack().client().post(route, "{}"), 401, "auth.missing_token"));
}

}  // namespace
}  // namespace hostler::testing_support
