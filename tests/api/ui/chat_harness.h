// Chats for tests of /v1/ui/chat: what useChat sends, and what it is shown.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tests/support/clients/ui_client.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/run_harness.h"

namespace hostler::testing_support {

inline const std::string ui_route = "/v1/ui/chat";

inline std::string encoded(std::string_view chat) {
  std::string out;
  for (char c : chat) {
    bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    out += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}
inline std::string path_of(std::string_view chat, std::string_view what) {
  return fmt::format("{}/{}/{}", ui_route, encoded(chat), what);
}

inline std::string body_of(std::string_view chat, std::string_view messages,
                           std::string_view further = "") {
  return fmt::format(R"({{"id":{},"trigger":"submit-message","messages":[{}]{}}})",
                     json_quote(chat), messages, further);
}
inline std::string saying(std::string_view chat, std::string_view text,
                          std::string_view further = "") {
  std::string message = fmt::format(
      R"({{"id":"msg-1","role":"user","parts":[{{"type":"text","text":{}}}]}})", json_quote(text));
  return body_of(chat, message, further);
}
// With these parts, the last message is the assistant's.
inline std::string answering(std::string_view chat, std::string_view parts) {
  return body_of(chat, fmt::format(R"({{"id":"m","role":"assistant","parts":[{}]}})", parts));
}
// shown: what the user said last, as the client has it; empty: it sends no messages.
inline std::string retrying(std::string_view chat, std::string_view message_id = "",
                            std::string_view shown = "") {
  std::string of = message_id.empty() ? "" : fmt::format(R"(,"messageId":"{}")", message_id);
  std::string message = fmt::format(
      R"({{"id":"msg-1","role":"user","parts":[{{"type":"text","text":{}}}]}})", json_quote(shown));
  return fmt::format(R"({{"id":{},"trigger":"regenerate-message","messages":[{}]{}}})",
                     json_quote(chat), shown.empty() ? "" : message, of);
}

// The stream without its comments.
inline std::string frames_of(const Answer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  constexpr std::string_view begin = ": ok\n\n";
  EXPECT_TRUE(answer.body.starts_with(begin)) << answer.body;
  if (!answer.body.starts_with(begin)) return "";
  std::string frames = answer.body.substr(begin.size());
  constexpr std::string_view ping = ": ping\n\n";
  for (size_t at = 0; (at = frames.find(ping)) != std::string::npos;) frames.erase(at, ping.size());
  return frames;
}
// The run of an answer, which is as it should be.
inline std::string run_of(const Answer& answer) {
  EXPECT_EQ(UiClient().read(frames_of(answer)), "stop") << answer.body;
  return answer.header("x-hostler-run");
}

inline Json messages_of(const Client& client, std::string_view chat) {
  Answer answer = client.get(path_of(chat, "messages"));
  EXPECT_EQ(answer.status, 200) << answer.body;
  return answer.json();
}

// Begins a run in the chat's thread whose answer nobody reads, and waits until it says something.
inline std::string start_chat(const Client& client, const std::string& chat,
                              std::string_view script) {
  run_of(client.post(ui_route, saying(chat, "[say before]")));
  std::string thread_id(
      messages_of(client, chat).as_array()->back().find("metadata")->text_or("threadId"));
  std::string path = "/v1/threads/" + thread_id;
  client.post(path + "/messages", fmt::format(R"({{"content":{}}})", json_quote(script)));
  Answer made = client.post(path + "/runs", "{}");
  EXPECT_EQ(made.status, 201) << made.body;
  std::string run_id = made.member("run_id");
  EXPECT_TRUE(
      eventually(10'000, [&] { return !story_of(client, run_id).all("message.delta").empty(); }));
  return run_id;
}

}  // namespace hostler::testing_support
