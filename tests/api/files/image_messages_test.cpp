// Images in messages, and what models get of them. Route: POST /v1/threads/{thread_id}/messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "tests/support/clients/uploads.h"
#include "tests/support/rigs/model_route.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

ApiStack& stack() { return runner_stack(); }

constexpr const char* seeing = R"(,"input_types":["text","image"])";

std::string image_body(const std::string& file_id, std::string_view words = "What is it?") {
  return fmt::format(R"({{"content":[{{"type":"text","text":"{}"}},)"
                     R"({{"type":"image","file_id":"{}","detail":"high"}}]}})",
                     words, file_id);
}

std::string messages_of(const std::string& thread_id) {
  return "/v1/threads/" + thread_id + "/messages";
}

// The bytes that models get of a file.
std::string derived_bytes(const std::string& file_id) {
  std::string hex = sql_value(
      stack(), fmt::format("SELECT encode(string_agg(content, ''::bytea ORDER BY nth), 'hex') FROM "
                           "file_derived_pieces WHERE file_id = '{}'",
                           file_id));
  return from_hex(hex).value_or("");
}

struct Asked {
  std::string run_id;
  std::string request;  // the last body that the model got
};

Asked ask(const TestUser& user, std::string_view form, const std::string& file_id) {
  TestUser admin = register_admin(stack());
  ModelRoute route = make_route(stack(), admin, form, seeing);
  std::string thread = make_thread(user.client);
  EXPECT_EQ(user.client.post(messages_of(thread), image_body(file_id)).status, 201);
  std::string run =
      start_run(user.client, thread, fmt::format(R"({{"route_id":"{}"}})", route.route_id));
  EXPECT_EQ(wait_for_status(user.client, run, "completed"), "completed");
  std::vector<std::string> requests = requests_for(stack(), route.model);
  EXPECT_EQ(requests.size(), 1u);
  return {run, requests.empty() ? "" : requests.back()};
}

TEST(ImageMessages, ReachBothKindsOfModelsAsTheDerivedBytes) {
  TestUser user = register_user(stack());
  std::string file = ready_file(user.client, picture("turned.jpg"), "photo.jpg");
  std::string derived = derived_bytes(file);
  EXPECT_TRUE(derived.starts_with("\xff\xd8\xff"));
  EXPECT_THAT(derived, Not(HasSubstr("planted")));
  EXPECT_THAT(derived, Not(HasSubstr("Exif")));
  EXPECT_THAT(ask(user, "openai", file).request,
              HasSubstr("data:image/jpeg;base64," + to_base64(derived) + "\",\"detail\":\"high\""));
  EXPECT_THAT(ask(user, "anthropic", file).request,
              HasSubstr(R"("media_type":"image/jpeg","data":")" + to_base64(derived) + '"'));
}

TEST(ImageMessages, AreSeenByTheFakeModel) {
  TestUser user = register_user(stack());
  std::string file = ready_file(user.client, picture("small.png"));
  Asked asked = ask(user, "openai", file);
  std::string thread = user.client.get("/v1/runs/" + asked.run_id).member("thread_id");
  EXPECT_THAT(user.client.get(messages_of(thread)).body,
              HasSubstr("SHA-256 " + to_hex(sha256(derived_bytes(file)))));
}

TEST(ImageMessages, ShowTheirParts) {
  TestUser user = register_user(stack());
  std::string file = ready_file(user.client, picture("small.png"), "chart.png");
  std::string thread = make_thread(user.client);
  Answer made = user.client.post(messages_of(thread), image_body(file, "Look"));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("content"), "Look");
  std::string parts = made.member("parts");
  EXPECT_THAT(parts, HasSubstr(R"("text":"Look")"));
  EXPECT_THAT(parts, HasSubstr(R"("name":"chart.png")"));
  EXPECT_THAT(parts, HasSubstr(R"("width":48)"));
  EXPECT_THAT(parts, HasSubstr(R"("is_deleted":false)"));
  EXPECT_EQ(post_message(user.client, thread, "only text").empty(), false);
  EXPECT_THAT(user.client.get(messages_of(thread)).body, HasSubstr("only text"));
  EXPECT_EQ(user.client.del("/v1/files/" + file).status, 204);
  std::string after = user.client.get(messages_of(thread)).body;
  EXPECT_THAT(after, Not(HasSubstr("chart.png")));
  EXPECT_THAT(after, HasSubstr("image/png"));
  EXPECT_THAT(after, AnyOf(HasSubstr(R"("is_deleted":true)"), HasSubstr(R"("is_deleted" : true)")));
}

TEST(ImageMessages, OfDeletedFilesAreToldToTheModel) {
  TestUser user = register_user(stack());
  std::string file = ready_file(user.client, picture("small.png"));
  std::string thread = make_thread(user.client);
  EXPECT_EQ(user.client.post(messages_of(thread), image_body(file)).status, 201);
  EXPECT_EQ(user.client.del("/v1/files/" + file).status, 204);
  TestUser admin = register_admin(stack());
  ModelRoute route = make_route(stack(), admin, "openai");
  std::string run =
      start_run(user.client, thread, fmt::format(R"({{"route_id":"{}"}})", route.route_id));
  EXPECT_EQ(wait_for_status(user.client, run, "completed"), "completed");
  EXPECT_THAT(requests_for(stack(), route.model).at(0), HasSubstr("Its file was deleted"));
}

TEST(ImageMessages, FailWhereTheModelTakesNoImages) {
  TestUser user = register_user(stack());
  std::string file = ready_file(user.client, picture("small.png"), "chart.png");
  std::string thread = make_thread(user.client);
  EXPECT_EQ(user.client.post(messages_of(thread), image_body(file)).status, 201);
  std::string run = start_run(user.client, thread);
  EXPECT_EQ(wait_for_status(user.client, run, "failed"), "failed");
  std::string body = user.client.get("/v1/runs/" + run).body;
  EXPECT_THAT(body, HasSubstr("runs.input_unsupported"));
  EXPECT_THAT(body, HasSubstr("chart.png"));
  EXPECT_THAT(body, HasSubstr("fake-model"));
}

TEST(ImageMessages, RefuseFilesThatAreNotTheCallers) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  std::string foreign = ready_file(other.client, picture("small.png"));
  std::string deleted = ready_file(user.client, picture("small.png"));
  user.client.del("/v1/files/" + deleted);
  std::string thread = make_thread(user.client);
  for (const std::string& file :
       {foreign, deleted, std::string("01a1fa43-8dcd-7506-ab81-ef7a33b2be1a")}) {
    Answer refused = user.client.post(messages_of(thread), image_body(file));
    EXPECT_TRUE(is_problem(refused, 422, "files.not_found")) << refused.body;
    EXPECT_THAT(refused.body, HasSubstr("content.1.file_id"));
  }
  EXPECT_EQ(user.client.get(messages_of(thread)).body, "[]");
}

TEST(ImageMessages, RefusePartsThatAreWrong) {
  TestUser user = register_user(stack());
  std::string thread = make_thread(user.client);
  auto fault = [&](const std::string& content, std::string_view field, std::string_view code) {
    Answer refused =
        user.client.post(messages_of(thread), fmt::format(R"({{"content":{}}})", content));
    EXPECT_TRUE(has_fault(refused, field, code)) << content << refused.body;
  };
  fault("[]", "content", "too_short");
  fault(R"([{"type":"text","text":" "}])", "content", "required");
  fault(R"([{"type":"text"}])", "content.0.text", "required");
  fault(R"([{"type":"video","file_id":"x"}])", "content.0.type", "unknown_value");
  fault(R"([{"type":"image"}])", "content.0.file_id", "required");
  std::string many = "[";
  for (int i = 0; i < 21; ++i) many += R"({"type":"text","text":"a"},)";
  many.back() = ']';
  fault(many, "content", "too_long");
}

TEST(ImageMessages, KeepTheirFilesUntilTheirThreadIsGone) {
  TestUser user = register_user(stack());
  std::string file = ready_file(user.client, picture("small.png"));
  std::string thread = make_thread(user.client);
  EXPECT_EQ(user.client.post(messages_of(thread), image_body(file)).status, 201);
  auto unused_since = [&] {
    return sql_value(stack(), fmt::format("SELECT coalesce(unused_since::text, 'used') FROM files "
                                          "WHERE id = '{}'",
                                          file));
  };
  EXPECT_EQ(unused_since(), "used");
  sql_value(stack(),
            fmt::format("DELETE FROM messages WHERE thread_id = '{}' RETURNING 1", thread));
  EXPECT_THAT(unused_since(), AnyOf("-infinity", ""));
}

}  // namespace
}  // namespace hostler::testing_support
