// Images in the requests of other protocols: data: URLs, and files by their ids. Routes:
// POST /v1/openai/chat/completions, POST /v1/openai/responses, POST /v1/ui/chat, POST /v1/agui.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "tests/support/clients/uploads.h"
#include "tests/support/rigs/model_route.h"
#include "tests/support/rigs/run_harness.h"

namespace hostler::testing_support {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* seeing = R"(,"input_types":["text","image"])";

std::string data_url(std::string_view name = "small.png", std::string_view type = "image/png") {
  return fmt::format("data:{};base64,{}", type, to_base64(picture(name)));
}

class GivenImages : public testing::Test {
 protected:
  std::string chat(const std::string& url, std::string_view further = "") const {
    return fmt::format(R"({{"model":"route:{}","messages":[{{"role":"user","content":[)"
                       R"({{"type":"text","text":"What is it?"}},)"
                       R"({{"type":"image_url","image_url":{{"url":"{}"}}}}]}}]{}}})",
                       route_.route_id, url, further);
  }
  std::string response(std::string_view part) const {
    return fmt::format(R"({{"model":"route:{}","input":[{{"role":"user","content":[)"
                       R"({{"type":"input_text","text":"What is it?"}},{}]}}]}})",
                       route_.route_id, part);
  }
  std::string ui(const std::string& url) const {
    return fmt::format(R"({{"id":"{}","route_id":"{}","messages":[{{"id":"m","role":"user",)"
                       R"("parts":[{{"type":"file","mediaType":"image/png","url":"{}"}}]}}]}})",
                       new_name("chat"), route_.route_id, url);
  }
  std::string agui(std::string_view source) const {
    return fmt::format(R"({{"threadId":"{}","runId":"r","state":{{}},"tools":[],"context":[],)"
                       R"("forwardedProps":{{"route_id":"{}"}},"messages":[{{"id":"m",)"
                       R"("role":"user","content":[{{"type":"image","source":{}}}]}}]}})",
                       new_name("thread"), route_.route_id, source);
  }
  // What models get of the user's newest file.
  std::string derived() const {
    std::string hex = sql_value(
        runner_stack(),
        "SELECT encode(string_agg(p.content, ''::bytea ORDER BY p.nth), 'base64') FROM "
        "file_derived_pieces p WHERE p.file_id = (SELECT f.id FROM files f WHERE "
        "f.created_by_user_id = '" +
            user_.id + "' ORDER BY f.id DESC LIMIT 1)");
    std::erase(hex, '\n');
    return hex;
  }
  void expect_shown(std::string_view path, const std::string& body) {
    Answer answer = user_.client.post(std::string(path), body);
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_THAT(answer.body, HasSubstr("SHA-256")) << path;
    std::vector<std::string> requests = requests_for(runner_stack(), route_.model);
    ASSERT_FALSE(requests.empty()) << path;
    EXPECT_THAT(requests.back(), HasSubstr("data:image/png;base64," + derived())) << path;
  }

  TestUser admin_ = register_admin(runner_stack());
  TestUser user_ = register_user(runner_stack());
  ModelRoute route_ = make_route(runner_stack(), admin_, "openai", seeing);
};

TEST_F(GivenImages, ReachTheModelInEveryProtocol) {
  expect_shown("/v1/openai/chat/completions", chat(data_url()));
  expect_shown("/v1/openai/responses",
               response(fmt::format(R"({{"type":"input_image","image_url":"{}"}})", data_url())));
  expect_shown("/v1/ui/chat", ui(data_url()));
  expect_shown("/v1/agui",
               agui(fmt::format(R"({{"type":"data","value":"{}","mimeType":"image/png"}})",
                                to_base64(picture("small.png")))));
}

TEST_F(GivenImages, AreFilesOfTheCallerByTheirIdsAndUrls) {
  std::string file = ready_file(user_.client, picture("small.png"));
  expect_shown("/v1/openai/chat/completions", chat("file-" + file));
  expect_shown("/v1/openai/chat/completions",
               chat("https://elsewhere.example/v1/files/" + file + "/content"));
  expect_shown("/v1/openai/responses",
               response(fmt::format(R"({{"type":"input_image","file_id":"file-{}"}})", file)));
  expect_shown("/v1/ui/chat", ui("/v1/files/" + file + "/content"));
  expect_shown("/v1/agui",
               agui(fmt::format(R"({{"type":"url","value":"/v1/files/{}/content"}})", file)));
}

TEST_F(GivenImages, OfOthersAreNotFound) {
  TestUser other = register_user(runner_stack());
  std::string file = ready_file(other.client, picture("small.png"));
  Answer refused = user_.client.post("/v1/openai/chat/completions", chat(file));
  EXPECT_EQ(refused.status, 404) << refused.body;
  EXPECT_THAT(refused.body, HasSubstr("files.not_found"));
  refused = user_.client.post("/v1/ui/chat", ui("/v1/files/" + file + "/content"));
  EXPECT_TRUE(is_problem(refused, 422, "files.not_found")) << refused.body;
}

TEST_F(GivenImages, AreRefusedWhereTheModelTakesNone) {
  ModelRoute blind = make_route(runner_stack(), admin_, "openai");
  std::swap(route_, blind);
  Answer refused = user_.client.post("/v1/openai/chat/completions", chat(data_url()));
  EXPECT_EQ(refused.status, 400) << refused.body;
  EXPECT_THAT(refused.body, HasSubstr("runs.input_unsupported"));
  refused = user_.client.post("/v1/ui/chat", ui(data_url()));
  EXPECT_TRUE(is_problem(refused, 422, "runs.input_unsupported")) << refused.body;
  EXPECT_EQ(user_.client.get("/v1/files").body, "[]");
}

TEST_F(GivenImages, ThatAreNoneAreRefused) {
  for (std::string url :
       {std::string("data:image/png;base64,%%%"), std::string("data:image/png,abc"),
        std::string("data:,"), std::string("data:image/png;base64,"),
        "data:image/svg+xml;base64," + to_base64("<svg/>"),
        std::string("https://example.org/a.png"), std::string("nonsense")}) {
    Answer refused = user_.client.post("/v1/openai/chat/completions", chat(url));
    EXPECT_EQ(refused.status, 400) << url << refused.body;
    EXPECT_THAT(refused.body, HasSubstr("messages.0.content.1.image_url.url")) << url;
  }
  EXPECT_EQ(user_.client.get("/v1/files").body, "[]");
}

TEST_F(GivenImages, BecomeFilesThatMessagesShow) {
  Answer answer = user_.client.post(
      "/v1/openai/responses",
      response(fmt::format(R"({{"type":"input_image","image_url":"{}"}})", data_url())));
  ASSERT_EQ(answer.status, 200) << answer.body;
  std::string items =
      user_.client.get("/v1/openai/responses/" + answer.member("id") + "/input_items").body;
  EXPECT_THAT(items, HasSubstr("input_image"));
  EXPECT_THAT(items, HasSubstr("file-"));
  EXPECT_THAT(items, Not(HasSubstr("base64")));
  std::string files = user_.client.get("/v1/files").body;
  EXPECT_THAT(files, HasSubstr("image.png"));
}

}  // namespace
}  // namespace hostler::testing_support
