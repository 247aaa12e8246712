// Images in messages, and what models get of them. Route: POST /v1/threads/{thread_id}/messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

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

TEST(ImageMessages, OfDeletedFilesAreNamedToTheModel) {
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

// POST /v1/threads/{thread_id}/runs
TEST(ImageMessages, AreRefusedWhereTheModelTakesNoImages) {
  TestUser user = register_user(stack());
  std::string file = ready_file(user.client, picture("small.png"), "chart.png");
  std::string thread = make_thread(user.client);
  EXPECT_EQ(user.client.post(messages_of(thread), image_body(file)).status, 201);
  Answer refused = user.client.post("/v1/threads/" + thread + "/runs", "{}");
  EXPECT_TRUE(is_problem(refused, 422, "runs.input_unsupported")) << refused.body;
  EXPECT_THAT(refused.body, HasSubstr("chart.png"));
  EXPECT_THAT(refused.body, HasSubstr("fake-model"));
  EXPECT_EQ(user.client.get("/v1/threads/" + thread).member("active_run_id"), "");
}

// POST /v1/threads/{thread_id}/runs
TEST(ImageMessages, MayComeWithTheirRun) {
  TestUser admin = register_admin(stack());
  ModelRoute route = make_route(stack(), admin, "openai", seeing);
  TestUser user = register_user(stack());
  std::string file = ready_file(user.client, picture("small.png"));
  std::string thread = make_thread(user.client);
  std::string content = image_body(file);
  content.insert(1, fmt::format(R"("route_id":"{}",)", route.route_id));
  Answer made = user.client.post("/v1/threads/" + thread + "/runs", content);
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(wait_for_status(user.client, made.member("run_id"), "completed"), "completed");
  EXPECT_THAT(requests_for(stack(), route.model).at(0), HasSubstr("data:image/png;base64,"));
}

// The same file gives the same bytes turn after turn.
TEST(ImageMessages, AreSentAgainAsTheSameBytes) {
  TestUser admin = register_admin(stack());
  ModelRoute route = make_route(stack(), admin, "openai", seeing);
  TestUser user = register_user(stack());
  std::string file = ready_file(user.client, picture("turned.jpg"));
  std::string thread = make_thread(user.client);
  EXPECT_EQ(user.client.post(messages_of(thread), image_body(file)).status, 201);
  std::string wanted = fmt::format(R"({{"route_id":"{}"}})", route.route_id);
  for (int i = 0; i < 2; ++i) {
    std::string run = start_run(user.client, thread, wanted);
    EXPECT_EQ(wait_for_status(user.client, run, "completed"), "completed");
    EXPECT_FALSE(post_message(user.client, thread, "And then?").empty());
  }
  std::vector<std::string> requests = requests_for(stack(), route.model);
  ASSERT_EQ(requests.size(), 2u);
  size_t end = requests[0].rfind("]}");
  EXPECT_EQ(requests[0].substr(0, end), requests[1].substr(0, end));
}

// A route of a chain that takes no images is skipped.
TEST(ImageMessages, LeadToTheNextRouteOfAChain) {
  TestUser admin = register_admin(stack());
  ModelRoute blind = make_route(stack(), admin, "openai");
  ModelRoute seeing_route = make_route(stack(), admin, "openai", seeing);
  TestUser user = register_user(stack());
  std::string key = new_name("chain");
  Answer persona = user.client.post(
      "/v1/personas?scope=org",
      fmt::format(R"({{"persona_key":"{}","version":"1","model":"{}","fallback_routes":["{}"]}})",
                  key, blind.route_id, seeing_route.route_id));
  ASSERT_EQ(persona.status, 201) << persona.body;
  std::string file = ready_file(user.client, picture("small.png"));
  std::string thread = make_thread(user.client);
  EXPECT_EQ(user.client.post(messages_of(thread), image_body(file)).status, 201);
  std::string run = start_run(user.client, thread, fmt::format(R"({{"persona_id":"{}@1"}})", key));
  EXPECT_EQ(wait_for_status(user.client, run, "completed"), "completed");
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT data ->> 'reason' FROM run_events WHERE type = "
                                           "'run.fell_back' AND run_id = '{}'",
                                           run)),
            "input_type");
  EXPECT_TRUE(requests_for(stack(), blind.model).empty());
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
  fault(R"([{"type":"file","file_id":"01a1fa43-8dcd-7506-ab81-ef7a33b2be1a"}])", "content.0.type",
        "unsupported");
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
