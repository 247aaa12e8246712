// Tests parts of a chat or a response that a model's form has no word for: they are input in
// another way, or refused by name, never left out.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/model_route.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr const char* chats = "/v1/openai/chat/completions";
constexpr const char* responses = "/v1/openai/responses";

// A user, and a model that is asked by nobody else.
struct Caller {
  TestUser user = register_user(runner_stack());
  ModelRoute route;

  explicit Caller(std::string_view form) {
    static const TestUser admin = register_admin(runner_stack());
    route = make_route(runner_stack(), admin, form);
  }
  Answer chat(std::string_view messages, std::string_view further = "") const {
    return user.client.post(chats, fmt::format(R"({{"model":"route:{}","messages":[{}]{}}})",
                                               route.route_id, messages, further));
  }
  Answer wish(const char* path, std::string_view member) const {
    const char* input =
        path == chats ? R"("messages":[{"role":"user","content":"a"}])" : R"("input":"a")";
    return user.client.post(
        path, fmt::format(R"({{"model":"route:{}",{},{}}})", route.route_id, input, member));
  }
  std::string sent() const {
    std::vector<std::string> bodies = requests_for(runner_stack(), route.model);
    return bodies.empty() ? "nothing" : bodies.back();
  }
};

std::string param_of(const Answer& answer) {
  Json body = answer.json();
  const Json* error = body.find("error");
  return error == nullptr ? "no error" : std::string(error->text_or("param"));
}

TEST(ModelForms, RefuseByNameWhatTheyHaveNoWordFor) {
  Caller openai("openai");
  Caller anthropic("anthropic");
  struct Wish {
    const char* path;
    const char* member;
    const char* param;
  };
  for (const Wish& wish : {Wish{chats, R"("seed":7)", "seed"},
                           Wish{chats, R"("presence_penalty":0.5)", "presence_penalty"},
                           Wish{chats, R"("frequency_penalty":-0.5)", "frequency_penalty"},
                           Wish{chats, R"("temperature":1.5)", "temperature"},
                           Wish{chats, R"("stop":["END","\n\n"])", "stop"},
                           Wish{responses, R"("presence_penalty":0.5)", "presence_penalty"},
                           Wish{responses, R"("temperature":1.5)", "temperature"}}) {
    Answer refused = anthropic.wish(wish.path, wish.member);
    EXPECT_TRUE(is_problem(refused, 400, "unsupported_parameter")) << wish.member << refused.body;
    EXPECT_EQ(param_of(refused), wish.param);
    EXPECT_NE(refused.body.find("Anthropic"), std::string::npos) << refused.body;
    EXPECT_EQ(openai.wish(wish.path, wish.member).status, 200) << wish.member;
    EXPECT_NE(openai.sent().find(wish.member), std::string::npos) << openai.sent();
  }
  EXPECT_EQ(anthropic.sent(), "nothing") << "no run began";
  EXPECT_EQ(anthropic.user.client.get("/v1/runs").body, "[]");
}

TEST(ModelForms, TakeWhatAsksForNothingAndWhatTheyKnow) {
  Caller caller("anthropic");
  Answer answer =
      caller.wish(chats, R"("presence_penalty":0,"frequency_penalty":0.0,"seed":null,)"
                         R"("temperature":1,"top_p":0.5,"stop":["END"],"max_tokens":9)");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_NE(caller.sent().find(R"("stop_sequences":["END"])"), std::string::npos) << caller.sent();
}

TEST(ModelForms, AreToldWhoSpeaks) {
  constexpr const char* messages = R"({"role":"user","name":"eve","content":"one"},)"
                                   R"({"role":"assistant","name":"","content":"b"},)"
                                   R"({"role":"user","name":null,"content":"two"})";
  Caller openai("openai");
  EXPECT_EQ(openai.chat(messages).status, 200);
  EXPECT_NE(
      openai.sent().find(R"([{"role":"user","name":"eve","content":"one"},)"
                         R"({"role":"assistant","content":"b"},{"role":"user","content":"two"}])"),
      std::string::npos)
      << openai.sent();
  Caller anthropic("anthropic");
  EXPECT_EQ(anthropic.chat(messages).status, 200);
  for (const char* text : {R"("text":"eve: one")", R"("text":"b")", R"("text":"two")"}) {
    EXPECT_NE(anthropic.sent().find(text), std::string::npos) << anthropic.sent();
  }
}

TEST(ModelForms, AreToldNoNameThatOpenAisRefuses) {
  Caller caller("openai");
  for (const std::string& name :
       {std::string("two words"), std::string("a/b"), std::string(65, 'a')}) {
    Answer answer =
        caller.chat(fmt::format(R"({{"role":"user","name":"{}","content":"a"}})", name));
    EXPECT_TRUE(is_problem(answer, 400, "validation.error")) << name << answer.body;
    EXPECT_EQ(param_of(answer), "messages.0.name");
  }
}

TEST(ModelForms, AreGivenTheSystemsLaterTextsInTheirOrder) {
  constexpr const char* messages =
      R"({"role":"system","content":"Be brief."},{"role":"user","content":"one"},)"
      R"({"role":"developer","content":"Be kind."},{"role":"user","content":"two"})";
  Caller openai("openai");
  EXPECT_EQ(openai.chat(messages).status, 200);
  EXPECT_NE(openai.sent().find(R"("content":"one"},{"role":"system","content":"Be kind."},{)"),
            std::string::npos)
      << openai.sent();
  Caller anthropic("anthropic");
  EXPECT_EQ(anthropic.chat(messages).status, 200);
  EXPECT_NE(anthropic.sent().find(R"("text":"Be brief.\n\nBe kind.")"), std::string::npos)
      << "the form has one place for them";
}

}  // namespace
}  // namespace hostler::testing_support
