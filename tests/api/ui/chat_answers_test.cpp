// What a chat waits for, and how its client answers: outputs of its tools, approvals, words to a
// question; in the next POST /v1/ui/chat, whose stream goes on with the same message.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/api/ui/chat_harness.h"
#include "tests/support/rows/function_tools.h"

namespace hostler::testing_support {
namespace {

constexpr const char* two_calls =
    R"([tools weather {"city":"Rome"} | traffic {"city":"Oslo"}] [say thanks])";

std::string with_tools() {
  return fmt::format(R"(,"tools":[{},{}])", city_tool("weather"), city_tool("traffic"));
}

// A chat as its client has it.
struct Chat {
  Client client;
  std::string name;
  std::string run_id;
  UiClient ui;

  // Says it; the first stream ends as it is answered here.
  static Chat begin(const Client& client, std::string_view script, std::string_view further,
                    std::string& end) {
    Chat chat{client, new_name("chat"), {}, {}};
    Answer answer = client.post(ui_route, saying(chat.name, script, further));
    end = chat.ui.read(frames_of(answer));
    chat.run_id = answer.header("x-hostler-run");
    return chat;
  }
  Answer answer(const std::string& parts) const {
    return client.post(ui_route, answering(name, parts));
  }
  // Goes on with the same message.
  std::string go_on(const std::string& parts) {
    Answer answered = answer(parts);
    EXPECT_EQ(answered.header("x-hostler-run"), run_id) << answered.body;
    std::string frames = frames_of(answered);
    EXPECT_TRUE(frames.starts_with(
        fmt::format("data: {{\"type\":\"start\",\"messageId\":\"{}\"}}\n\n", run_id)))
        << frames;
    return ui.read(frames);
  }
  Json parts() const { return *parse_json_or_nothing(ui.parts()); }
  std::string id_of(std::string_view type, size_t nth = 0) const {
    Json all = parts();
    for (const Json& part : *all.as_array()) {
      if (part.text_or("type") == type && nth-- == 0)
        return std::string(part.text_or("toolCallId"));
    }
    ADD_FAILURE() << "no " << type << " in " << ui.parts();
    return {};
  }
  std::string approval_of(std::string_view call_id) const {
    Json all = parts();
    for (const Json& part : *all.as_array()) {
      const Json* approval = part.find("approval");
      if (part.text_or("toolCallId") == call_id && approval != nullptr)
        return std::string(approval->text_or("id"));
    }
    ADD_FAILURE() << "no approval of " << call_id << " in " << ui.parts();
    return {};
  }
  std::string stored_parts() const {
    return messages_of(client, name).as_array()->back().find("parts")->dump();
  }
};

std::string output(const std::string& id, std::string_view json,
                   std::string_view tool = "weather") {
  return fmt::format(
      R"({{"type":"tool-{}","toolCallId":"{}","state":"output-available","output":{}}})", tool, id,
      json);
}
std::string approval(const std::string& id, bool approved, std::string_view reason = "") {
  return fmt::format(R"({{"type":"tool-web_search","toolCallId":"c","state":"approval-responded",)"
                     R"("approval":{{"id":"{}","approved":{},"reason":{}}}}})",
                     id, approved, json_quote(reason));
}

// The blank line between the texts of two turns is in neither of their parts, in the stream and in
// the messages that are read later.
TEST(UiChatAnswers, HaveTheSameTextsWhenTheyAreRead) {
  TestUser user = register_user(runner_stack());
  std::string end;
  Chat chat = Chat::begin(user.client, "[words 3] [tool no_such_tool {}] [words 12]", "", end);
  EXPECT_EQ(end, "stop");
  std::string streamed = chat.ui.parts();
  EXPECT_EQ(streamed.find(R"("text":"\n\n)"), std::string::npos) << streamed;
  auto texts = [](const std::string& parts) {
    std::string all;
    Json list = *parse_json_or_nothing(parts);
    for (const Json& part : *list.as_array()) {
      if (part.text_or("type") == "text") all += fmt::format("<{}>", part.text_or("text"));
    }
    return all;
  };
  EXPECT_NE(texts(streamed).find("><"), std::string::npos) << "two texts: " << streamed;
  EXPECT_EQ(texts(chat.stored_parts()), texts(streamed));
}

TEST(UiChatAnswers, AreTheOutputsOfTheClientsTools) {
  TestUser user = register_user(runner_stack());
  std::string end;
  Chat chat = Chat::begin(user.client, two_calls, with_tools(), end);
  EXPECT_EQ(end, "tool-calls");
  EXPECT_EQ(chat.ui.parts().find("providerExecuted"), std::string::npos) << chat.ui.parts();
  std::string weather = chat.id_of("tool-weather");
  std::string traffic = chat.id_of("tool-traffic");
  // All of them or none: what is there is not lost, since the client sends it again.
  EXPECT_TRUE(is_problem(chat.answer(output(weather, "21")), 409, "runs.other_answer"));
  EXPECT_TRUE(is_problem(chat.answer(output("nobodys", "21")), 409, "runs.other_answer"));
  // While it waits the chat is taken up as far as it is.
  UiClient taken_up;
  EXPECT_EQ(taken_up.read(frames_of(user.client.get(path_of(chat.name, "stream")))), "tool-calls");
  EXPECT_EQ(taken_up.parts(), chat.ui.parts());
  std::string error = fmt::format(R"({{"type":"tool-traffic","toolCallId":"{}",)"
                                  R"("state":"output-error","errorText":"No road."}})",
                                  traffic);
  // What ran here, and what was answered before, may stand beside them.
  std::string other =
      R"({"type":"step-start"},{"type":"tool-x","toolCallId":"c","state":"output-available",)"
      R"("output":1,"providerExecuted":true},)";
  EXPECT_EQ(chat.go_on(other + output(weather, R"({"celsius":21})") + "," + error), "stop");
  std::string stored = chat.stored_parts();
  EXPECT_NE(stored.find(R"("output":{"celsius":21}})"), std::string::npos) << stored;
  EXPECT_NE(stored.find(R"("state":"output-error","input":{"city":"Oslo"},"errorText":"No road.")"),
            std::string::npos)
      << stored;
  EXPECT_NE(stored.find(R"("text":"thanks")"), std::string::npos) << stored;
  EXPECT_TRUE(is_problem(chat.answer(output(weather, "21")), 409, "runs.not_waiting"));
}

TEST(UiChatAnswers, ApproveAndDenyCallsOneByOne) {
  TestUser user = register_user(runner_stack());
  std::string persona = make_persona(user, "web_search", "web_search");
  std::string end;
  Chat chat = Chat::begin(
      user.client, R"([tools web_search {"query":"a"} | web_search {"query":"b"}] [say done])",
      fmt::format(R"(,"persona_id":"{}")", persona), end);
  EXPECT_EQ(end, "tool-calls");
  // The second is shown when it is asked about.
  std::string first = chat.id_of("tool-web_search");
  EXPECT_EQ(chat.ui.parts().find(R"("query":"b")"), std::string::npos) << chat.ui.parts();
  EXPECT_TRUE(is_problem(chat.answer(approval("nobodys", true)), 409, "runs.other_answer"));
  EXPECT_TRUE(is_problem(chat.answer(output(first, "1", "web_search")), 409, "runs.other_answer"));
  EXPECT_EQ(chat.go_on(approval(chat.approval_of(first), true)), "tool-calls");
  std::string second = chat.id_of("tool-web_search", 1);
  EXPECT_EQ(chat.go_on(approval(chat.approval_of(second), false, "Not that.")), "stop");
  Json parts = *parse_json_or_nothing(chat.stored_parts());
  const Json& approved = parts.as_array()->at(1);
  const Json& denied = parts.as_array()->at(2);
  EXPECT_EQ(approved.find("approval")->find("approved")->dump(), "true");
  // Nothing is configured for the tool, which was called.
  EXPECT_EQ(approved.text_or("state"), "output-error");
  EXPECT_EQ(denied.text_or("state"), "output-denied");
  EXPECT_EQ(denied.find("approval")->text_or("reason"), "Not that.");
  EXPECT_EQ(story_of(user.client, chat.run_id).outcomes(),
            (std::vector<std::string>{"tool.not_configured", "tool.denied"}));
}

TEST(UiChatAnswers, AnswerAQuestionInWords) {
  TestUser user = register_user(runner_stack());
  for (const char* words : {R"("Blue.")", R"({"answer":"Blue."})"}) {
    std::string end;
    Chat chat = Chat::begin(user.client, "[ask Which colour?] [say fine]", "", end);
    EXPECT_EQ(end, "tool-calls");
    EXPECT_NE(chat.ui.parts().find(R"("message":"Which colour?"}})"), std::string::npos);
    std::string id = chat.id_of("tool-ask_user");
    EXPECT_TRUE(
        is_problem(chat.answer(output(id, R"(" ")", "ask_user")), 409, "runs.other_answer"));
    EXPECT_EQ(chat.go_on(output(id, words, "ask_user")), "stop");
    EXPECT_EQ(story_of(user.client, chat.run_id).result(), R"({"answer":"Blue."})");
    EXPECT_NE(chat.stored_parts().find(R"("message":"Which colour?","answer":"Blue."}})"),
              std::string::npos)
        << chat.stored_parts();
  }
}

TEST(UiChatAnswers, MayBeANewMessageInstead) {
  TestUser user = register_user(runner_stack());
  std::string end;
  Chat chat = Chat::begin(user.client, two_calls, with_tools(), end);
  run_of(user.client.post(ui_route, saying(chat.name, "[say never mind]")));
  EXPECT_EQ(user.client.get("/v1/runs/" + chat.run_id).member("status"), "cancelled");
  // Its calls are closed, so that no client waits for them.
  Json messages = messages_of(user.client, chat.name);
  std::string parts = messages.as_array()->at(1).find("parts")->dump();
  EXPECT_EQ(parts.find("input-available"), std::string::npos) << parts;
}

TEST(UiChatAnswers, ToARunThatWasBegunByAnotherCall) {
  TestUser user = register_user(runner_stack());
  AskingRun asking = start_asking(user.client, two_calls);
  Json run = user.client.get("/v1/runs/" + asking.run_id).json();
  Chat chat{user.client, std::string(run.text_or("thread_id")), asking.run_id, {}};
  EXPECT_EQ(chat.ui.read(frames_of(user.client.get(path_of(chat.name, "stream")))), "tool-calls");
  EXPECT_EQ(chat.ui.parts().find("providerExecuted"), std::string::npos) << chat.ui.parts();
  EXPECT_EQ(chat.go_on(output(asking.call_ids.at(0), "1") + "," +
                       output(asking.call_ids.at(1), "2", "traffic")),
            "stop");
}

}  // namespace
}  // namespace hostler::testing_support
