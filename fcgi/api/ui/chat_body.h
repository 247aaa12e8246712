// Reads the request of the AI SDK's useChat. Used by fcgi/api/ui/chat.cpp. Only the last of
// `messages` is read, or the user's last one if an answer is to be made again, because the thread
// knows the others.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "fcgi/api/files/given_parts.h"
#include "fcgi/api/runs/run_choice.h"
#include "fcgi/http/input.h"

namespace hostler {

constexpr size_t chat_name_max = 128;

struct NewUiMessage {
  std::string content;
  std::optional<std::string> parts;       // JSON, of one with images
  std::optional<std::string> message_id;  // as the client calls it
  bool sends_again = false;               // the client names a message that it shows already
  std::optional<std::string> end_user;
  RunChoice choice;
  std::optional<std::string> tools;  // as the run keeps them
  std::string metadata = "{}";
};

struct UiRetry {
  std::optional<std::string> message_id;
  std::optional<std::string> question;  // the last text of the user's that the client shows
  // With no message_id, and a message of the user's as the last one: the same, as it was to be said
  // if it never came here.
  std::optional<NewUiMessage> unsaid;
};

// Parts of the last message, which is the assistant's; both arrays in the form of ui_chat_answer().
struct UiAnswers {
  std::string results;
  std::string approvals;
};

struct UiChatBody {
  std::string chat;
  std::variant<NewUiMessage, UiRetry, UiAnswers> wanted;
};

// Throws the 422 of all faults, and tools.name_taken. limits: of images in the body.
UiChatBody read_ui_chat_body(Fields fields, const UploadLimits& limits);

}  // namespace hostler
