// POST /v1/ui/chat, GET /v1/ui/chat/{chat}/messages, GET /v1/ui/chat/{chat}/stream and
// POST /v1/ui/chat/{chat}/stop through nginx, pool and relay: what useChat of the AI SDK sends and
// is shown.
#include <gtest/gtest.h>

#include <thread>

#include <fmt/format.h>

#include "tests/api/ui/chat_harness.h"
#include "tests/support/eventually.h"

namespace hostler::testing_support {
namespace {

TEST(UiChat, StreamsTheMessageThatIsReadLater) {
  TestUser user = register_user(runner_stack());
  std::string chat = new_name("chat");
  Answer answer = user.client.post(ui_route, saying(chat, "[think hm hm] [say hello there]"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("content-type"), "text/event-stream");
  EXPECT_EQ(answer.header("x-vercel-ai-ui-message-stream"), "v1");
  EXPECT_EQ(answer.header("cache-control"), "no-store");
  std::string run_id = answer.header("x-hostler-run");
  UiClient client;
  EXPECT_EQ(client.read(frames_of(answer)), "stop");
  Json messages = messages_of(user.client, chat);
  ASSERT_EQ(messages.as_array()->size(), 2u);
  const Json& asked = messages.as_array()->at(0);
  EXPECT_EQ(asked.text_or("role"), "user");
  EXPECT_EQ(asked.find("parts")->dump(),
            R"([{"type":"text","text":"[think hm hm] [say hello there]"}])");
  const Json& answered = messages.as_array()->at(1);
  EXPECT_EQ(answered.text_or("id"), run_id);
  EXPECT_EQ(answered.find("parts")->dump(), client.parts());
  EXPECT_NE(client.parts().find(R"("type":"reasoning")"), std::string::npos);
  EXPECT_NE(client.parts().find(R"("text":"hello there")"), std::string::npos);
  // The accepted message is what the run repeats.
  Json run = user.client.get("/v1/runs/" + run_id).json();
  const Json& usage = *answered.find("metadata")->find("usage");
  EXPECT_EQ(usage.integer_or("inputTokens", 0), run.integer_or("total_input_tokens", -1));
  EXPECT_EQ(usage.integer_or("outputTokens", 0), run.integer_or("total_output_tokens", -1));
  EXPECT_EQ(usage.integer_or("totalTokens", 0),
            usage.integer_or("inputTokens", 0) + usage.integer_or("outputTokens", 0));
}

TEST(UiChat, IsAThreadUnderItsOwnNameAndByItsId) {
  TestUser user = register_user(runner_stack());
  std::string chat = "a chat/with ä ? and 100%";
  constexpr const char* marks = R"(,"end_user":"u-7","metadata":{"a":"b"},"persona_id":"normal@1")";
  std::string run_id = run_of(user.client.post(ui_route, saying(chat, "[say one]", marks)));
  Json run = user.client.get("/v1/runs/" + run_id).json();
  EXPECT_EQ(run.text_or("end_user"), "u-7");
  EXPECT_EQ(run.find("metadata")->dump(), R"({"a":"b"})");
  std::string thread_id(run.text_or("thread_id"));
  // The second message goes to the same one, by either name.
  std::string second = run_of(user.client.post(ui_route, saying(thread_id, "[say two]")));
  EXPECT_EQ(user.client.get("/v1/runs/" + second).member("thread_id"), thread_id);
  EXPECT_EQ(messages_of(user.client, chat).dump(), messages_of(user.client, thread_id).dump());
  EXPECT_EQ(messages_of(user.client, chat).as_array()->size(), 4u);
  EXPECT_EQ(
      user.client.get(fmt::format("/v1/threads/{}/messages", thread_id)).json().as_array()->size(),
      4u);
  // For another user the name is another chat, and so is the thread's id.
  TestUser stranger = register_user(runner_stack());
  EXPECT_EQ(messages_of(stranger.client, chat).dump(), "[]");
  EXPECT_EQ(messages_of(stranger.client, thread_id).dump(), "[]");
  run_of(stranger.client.post(ui_route, saying(thread_id, "[say mine]")));
  EXPECT_EQ(messages_of(stranger.client, thread_id).as_array()->size(), 2u);
  EXPECT_EQ(messages_of(user.client, thread_id).as_array()->size(), 4u);
}

TEST(UiChat, MayHaveAnyNameInPaths) {
  TestUser user = register_user(runner_stack());
  for (std::string_view chat : {"ticket:4711", ":stop", "a/b", "%2F?#", "ä b", "\n"}) {
    std::string run_id = run_of(user.client.post(ui_route, saying(chat, "[say one]")));
    Json messages = messages_of(user.client, chat);
    ASSERT_EQ(messages.as_array()->size(), 2u) << chat;
    EXPECT_EQ(messages.as_array()->back().text_or("id"), run_id) << chat;
    EXPECT_EQ(user.client.get(path_of(chat, "stream")).status, 204) << chat;
    EXPECT_EQ(user.client.post(path_of(chat, "stop")).status, 200) << chat;
  }
}

TEST(UiChat, IsTakenUpFromItsBeginning) {
  TestUser user = register_user(runner_stack());
  std::string chat = new_name("chat");
  EXPECT_EQ(user.client.get(path_of(chat, "stream")).status, 204);
  std::string run_id = start_chat(user.client, chat, "[say one] [delay 30] [words 20] [say end]");
  Answer answer = user.client.get(path_of(chat, "stream"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("x-hostler-run"), run_id);
  UiClient client;
  EXPECT_EQ(client.read(frames_of(answer)), "stop");
  EXPECT_EQ(messages_of(user.client, chat).as_array()->back().find("parts")->dump(),
            client.parts());
  EXPECT_EQ(user.client.get(path_of(chat, "stream")).status, 204);
}

TEST(UiChat, IsStoppedByACallOfItsOwn) {
  TestUser user = register_user(runner_stack());
  std::string chat = new_name("chat");
  EXPECT_EQ(user.client.post(path_of(chat, "stop")).body, R"({"ok":true})") << "at nothing";
  std::string run_id = start_chat(user.client, chat, "[delay 50] [words 400]");
  EXPECT_EQ(user.client.post(path_of(chat, "stop")).body, R"({"ok":true})");
  EXPECT_EQ(wait_for_status(user.client, run_id, "cancelled"), "cancelled");
  Json last = messages_of(user.client, chat).as_array()->back();
  EXPECT_EQ(last.text_or("id"), run_id);
  EXPECT_EQ(last.find("metadata")->text_or("status"), "cancelled");
  EXPECT_EQ(last.find("metadata")->text_or("reason"), "requested");
}

TEST(UiChat, IsInterruptedByANewMessage) {
  TestUser user = register_user(runner_stack());
  std::string chat = new_name("chat");
  std::string first = start_chat(user.client, chat, "[delay 50] [words 400]");
  UiClient client;
  Answer answer = user.client.post(ui_route, saying(chat, "[say instead]"));
  EXPECT_EQ(client.read(frames_of(answer)), "stop");
  EXPECT_NE(client.parts().find("instead"), std::string::npos);
  EXPECT_EQ(user.client.get("/v1/runs/" + first).member("status"), "cancelled");
  Json messages = messages_of(user.client, chat);
  ASSERT_EQ(messages.as_array()->size(), 6u);
  EXPECT_EQ(messages.as_array()->at(3).find("metadata")->text_or("reason"), "interrupted");
}

std::string saying_as(std::string_view chat, std::string_view id, std::string_view text,
                      std::string_view further = "") {
  return body_of(chat,
                 fmt::format(R"({{"id":"{}","role":"user","parts":[{{"type":"text","text":{}}}]}})",
                             id, json_quote(text)),
                 further);
}

// A client that lost the answer posts its message again.
TEST(UiChat, TakesAMessageThatComesTwiceOnce) {
  TestUser user = register_user(runner_stack());
  std::string chat = new_name("chat");
  Answer first = user.client.post(ui_route, saying_as(chat, "m1", "[say one]"));
  std::string run_id = run_of(first);
  Answer second = user.client.post(ui_route, saying_as(chat, "m1", "[say one]"));
  EXPECT_EQ(run_of(second), run_id);
  EXPECT_EQ(frames_of(second), frames_of(first));
  EXPECT_EQ(messages_of(user.client, chat).as_array()->size(), 2u);
  // Also when others came after it, and of an answer that was made again the newest.
  run_of(user.client.post(ui_route, saying_as(chat, "m2", "[say two]")));
  std::string again = run_of(user.client.post(ui_route, retrying(chat)));
  EXPECT_EQ(run_of(user.client.post(ui_route, saying_as(chat, "m1", "[say one]"))), run_id);
  EXPECT_EQ(run_of(user.client.post(ui_route, saying_as(chat, "m2", "[say two]"))), again);
  Json messages = messages_of(user.client, chat);
  EXPECT_EQ(messages.as_array()->size(), 4u);
  // By the id that the thread gave it, too.
  std::string_view id = messages.as_array()->at(2).text_or("id");
  EXPECT_EQ(run_of(user.client.post(ui_route, saying_as(chat, id, "[say two]"))), again);
  // Other messages are others, whatever they are called.
  EXPECT_NE(run_of(user.client.post(ui_route, saying_as(chat, "m2", "[say three]"))), again);
  EXPECT_NE(run_of(user.client.post(ui_route, saying_as(chat, "m3", "[say two]"))), again);
  EXPECT_EQ(messages_of(user.client, chat).as_array()->size(), 8u);
}

TEST(UiChat, FollowsTheRunOfAMessageThatComesTwiceMeanwhile) {
  TestUser user = register_user(runner_stack());
  std::string chat = new_name("chat");
  std::string body = saying_as(chat, "m1", "[say one] [delay 30] [words 20]");
  Answer answers[2];
  std::thread other([&] {
    Line line(runner_stack().line().base_url(), runner_stack().certificate());
    Client client(line);
    client.token = user.client.token;
    answers[0] = client.post(ui_route, body);
  });
  answers[1] = user.client.post(ui_route, body);
  other.join();
  EXPECT_EQ(run_of(answers[0]), run_of(answers[1]));
  EXPECT_EQ(messages_of(user.client, chat).as_array()->size(), 2u);
}

// useChat's sendMessage() without a message sends the last one again, and names it.
TEST(UiChat, AnswersAMessageAgainThatIsSentAgainAfterAFailure) {
  TestUser user = register_user(runner_stack());
  std::string chat = new_name("chat");
  constexpr const char* named = R"(,"messageId":"m1")";
  std::string lost = run_of(user.client.post(ui_route, saying_as(chat, "m1", "[say one]", named)));
  EXPECT_EQ(run_of(user.client.post(ui_route, saying_as(chat, "m1", "[say one]", named))), lost);
  EXPECT_TRUE(has_fault(user.client.post(ui_route, saying_as(chat, "m1", "[say two]", named)),
                        "messageId", "bad_format"));
  user.client.post(ui_route, saying_as(chat, "m2", "[status 400]"));
  Answer again =
      user.client.post(ui_route, saying_as(chat, "m2", "[status 400]", R"(,"messageId":"m2")"));
  std::string failed = again.header("x-hostler-run");
  EXPECT_NE(user.client.get("/v1/runs/" + failed + "/events").body.find(R"("source":"retry")"),
            std::string::npos);
  EXPECT_EQ(
      user.client.post(ui_route, saying_as(chat, "m2", "[status 400]")).header("x-hostler-run"),
      failed);
  std::string thread_id = user.client.get("/v1/runs/" + failed).member("thread_id");
  Json posted = user.client.get("/v1/threads/" + thread_id + "/messages").json();
  EXPECT_EQ(posted.as_array()->size(), 3u) << posted.dump();
}

TEST(UiChat, MakesItsLastAnswerAgain) {
  TestUser user = register_user(runner_stack());
  std::string chat = new_name("chat");
  EXPECT_TRUE(is_problem(user.client.post(ui_route, retrying(chat)), 409, "runs.nothing_to_retry"));
  std::string first = run_of(user.client.post(ui_route, saying(chat, "[say one]")));
  std::string second = run_of(user.client.post(ui_route, retrying(chat)));
  Json messages = messages_of(user.client, chat);
  ASSERT_EQ(messages.as_array()->size(), 2u) << messages.dump();
  EXPECT_EQ(messages.as_array()->back().text_or("id"), second);
  EXPECT_TRUE(
      has_fault(user.client.post(ui_route, retrying(chat, first)), "messageId", "bad_format"));
  run_of(user.client.post(ui_route, retrying(chat, second)));
  // The client's own names of messages are not known.
  std::string fourth = run_of(user.client.post(ui_route, retrying(chat, "msg-1")));
  EXPECT_EQ(messages_of(user.client, chat).as_array()->back().text_or("id"), fourth);
}

// Else the new answer would stand below a question that it does not answer.
TEST(UiChat, MakesTheAnswerAgainThatADeletedResponseLeftLast) {
  TestUser user = register_user(runner_stack());
  auto respond = [&](std::string_view further) {
    Answer answer =
        user.client.post("/v1/openai/responses",
                         fmt::format(R"({{"model":"normal","input":"[say one]"{}}})", further));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.member("id");
  };
  std::string first = respond("");
  std::string second = respond(fmt::format(R"(,"previous_response_id":"{}")", first));
  ASSERT_EQ(user.client.del("/v1/openai/responses/" + second).status, 200);
  std::string first_run = first.substr(first.find('_') + 1);
  std::string chat = user.client.get("/v1/runs/" + first_run).member("thread_id");
  std::string run_id = run_of(user.client.post(ui_route, retrying(chat, first_run)));
  Json messages = messages_of(user.client, chat);
  ASSERT_EQ(messages.as_array()->size(), 2u);
  EXPECT_EQ(messages.as_array()->back().text_or("id"), run_id);
  // The answer of which it takes the place is no part of the thread, either.
  std::string path = fmt::format("/v1/threads/{}/messages", chat);
  EXPECT_EQ(user.client.get(path).json().as_array()->size(), 2u);
}

TEST(UiChat, MakesNoAnswerToAnOlderQuestionAgain) {
  TestUser user = register_user(runner_stack());
  std::string chat = new_name("chat");
  run_of(user.client.post(ui_route, saying(chat, "[say one]")));
  std::string second = run_of(user.client.post(ui_route, saying(chat, "[say two]")));
  Json messages = messages_of(user.client, chat);
  ASSERT_EQ(messages.as_array()->size(), 4u) << messages.dump();
  std::string older(messages.as_array()->at(0).text_or("id"));
  std::string newest(messages.as_array()->at(2).text_or("id"));
  // A client's own name of a message says nothing: what the user said does.
  for (const std::string& body : {retrying(chat, older), retrying(chat, older, "[say two]"),
                                  retrying(chat, "msg-1", "[say one]")}) {
    Answer refused = user.client.post(ui_route, body);
    EXPECT_TRUE(has_fault(refused, "messageId", "bad_format")) << body;
  }
  EXPECT_EQ(messages_of(user.client, chat).dump(), messages.dump());
  std::string third = run_of(user.client.post(ui_route, retrying(chat, newest, "[say two]")));
  std::string fourth = run_of(user.client.post(ui_route, retrying(chat, "msg-1", "[say two]")));
  messages = messages_of(user.client, chat);
  ASSERT_EQ(messages.as_array()->size(), 4u) << messages.dump();
  EXPECT_EQ(messages.as_array()->back().text_or("id"), fourth);
  EXPECT_NE(third, second);
}

// Request of useChat's regenerate() after a message that was refused, or lost on its way.
TEST(UiChat, SaysNowWhatNeverCame) {
  TestUser user = register_user(runner_stack());
  std::string chat = new_name("chat");
  std::string wrong = R"(,"persona_id":"nobody@1")";
  Answer refused = user.client.post(ui_route, saying(chat, "[say one]", wrong));
  EXPECT_TRUE(is_problem(refused, 422, "runs.unknown_persona"));
  std::string first = run_of(user.client.post(ui_route, retrying(chat, "", "[say one]")));
  refused = user.client.post(ui_route, saying(chat, "[say two]", wrong));
  EXPECT_EQ(refused.status, 422);
  std::string second = run_of(user.client.post(ui_route, retrying(chat, "", "[say two]")));
  Json messages = messages_of(user.client, chat);
  ASSERT_EQ(messages.as_array()->size(), 4u) << messages.dump();
  EXPECT_EQ(messages.as_array()->at(1).text_or("id"), first);
  EXPECT_EQ(messages.as_array()->back().text_or("id"), second);
  // A received message is not posted twice.
  std::string third = run_of(user.client.post(ui_route, retrying(chat, "", "[say two]")));
  messages = messages_of(user.client, chat);
  ASSERT_EQ(messages.as_array()->size(), 4u) << messages.dump();
  EXPECT_EQ(messages.as_array()->back().text_or("id"), third);
}

TEST(UiChat, ShowsAFailureUntilItIsMadeGood) {
  TestUser user = register_user(runner_stack());
  std::string chat = new_name("chat");
  Answer failing = user.client.post(ui_route, saying(chat, "[status 400 times=2] [say well]"));
  EXPECT_EQ(UiClient().read(frames_of(failing)), "error");
  std::string failed = failing.header("x-hostler-run");
  Json messages = messages_of(user.client, chat);
  ASSERT_EQ(messages.as_array()->size(), 2u);
  const Json& metadata = *messages.as_array()->back().find("metadata");
  EXPECT_EQ(metadata.text_or("status"), "failed");
  EXPECT_EQ(metadata.find("error")->text_or("code"), "model.rejected");
  // A retry that fails too takes nothing's place, one that succeeds does.
  EXPECT_EQ(UiClient().read(frames_of(user.client.post(ui_route, retrying(chat)))), "error");
  EXPECT_EQ(messages_of(user.client, chat).as_array()->back().text_or("id"), failed);
  std::string good = run_of(user.client.post(ui_route, retrying(chat)));
  messages = messages_of(user.client, chat);
  ASSERT_EQ(messages.as_array()->size(), 2u) << messages.dump();
  EXPECT_EQ(messages.as_array()->back().text_or("id"), good);
}

TEST(UiChat, ListsItsMessagesByPages) {
  TestUser user = register_user(runner_stack());
  std::string chat = new_name("chat");
  for (int i = 0; i < 3; ++i) {
    run_of(user.client.post(ui_route, saying(chat, fmt::format("[say {}]", i))));
  }
  std::string all = messages_of(user.client, chat).dump();
  Json joined{Json::Array()};
  std::string path = path_of(chat, "messages?limit=2");
  for (int pages = 0; pages < 3; ++pages) {
    Answer page = user.client.get(path);
    ASSERT_EQ(page.status, 200) << page.body;
    Json items = page.json();
    EXPECT_EQ(items.as_array()->size(), 2u);
    joined.as_array()->insert(joined.as_array()->begin(), items.as_array()->begin(),
                              items.as_array()->end());
    std::string link = page.header("link");
    EXPECT_EQ(link.empty(), pages == 2) << link;
    if (!link.empty()) path = link.substr(1, link.find('>') - 1);
  }
  EXPECT_EQ(joined.dump(), all);
  EXPECT_TRUE(
      has_fault(user.client.get(path_of(chat, "messages?limit=0")), "limit", "out_of_range"));
}

TEST(UiChat, KeepsTheAnswersOfRunsWhoseEventsAreGone) {
  TestUser user = register_user(runner_stack());
  std::string chat = new_name("chat");
  std::string run_id = run_of(user.client.post(ui_route, saying(chat, "[say kept]")));
  runner_stack().sql().run_text("DELETE FROM run_events WHERE run_id = '" + run_id + "'");
  Json last = messages_of(user.client, chat).as_array()->back();
  EXPECT_EQ(last.text_or("id"), run_id);
  EXPECT_EQ(last.find("parts")->dump(), R"([{"type":"text","text":"kept"}])");
}

TEST(UiChat, IsRepeatedUnderItsKey) {
  TestUser user = register_user(runner_stack());
  std::string chat = new_name("chat");
  Call call{"POST",
            ui_route,
            saying(chat, "[say once]"),
            "application/json",
            {{"Idempotency-Key", "ui-1"}}};
  Answer first = user.client.send(call);
  Answer second = user.client.send(call);
  EXPECT_EQ(run_of(first), run_of(second));
  EXPECT_EQ(second.header("idempotency-replayed"), "true");
  EXPECT_EQ(frames_of(first), frames_of(second));
  EXPECT_EQ(messages_of(user.client, chat).as_array()->size(), 2u);
}

TEST(UiChat, HoldsBackTextThatMustFitAFormat) {
  TestUser user = register_user(runner_stack());
  std::string key = new_name("persona");
  Answer made = user.client.post(
      "/v1/personas?scope=org",
      fmt::format(R"({{"persona_key":"{}","version":"1","tools":[],"response_format":{{)"
                  R"("type":"json_schema","name":"w","schema":{{"type":"object",)"
                  R"("required":["c"]}}}}}})",
                  key));
  ASSERT_EQ(made.status, 201) << made.body;
  std::string chat = new_name("chat");
  Answer answer = user.client.post(ui_route, saying(chat, R"([answer no] [answer {"c":1}])",
                                                    fmt::format(R"(,"persona_id":"{}")", key)));
  UiClient client;
  EXPECT_EQ(client.read(frames_of(answer)), "stop") << answer.body;
  EXPECT_EQ(client.parts(),
            R"([{"type":"step-start"},{"type":"text","text":"{\"c\":1}","state":"done"},)"
            R"({"type":"data-output","id":"output","data":{"c":1}}])");
  EXPECT_EQ(messages_of(user.client, chat).as_array()->back().find("parts")->dump(),
            client.parts());
}

}  // namespace
}  // namespace hostler::testing_support
