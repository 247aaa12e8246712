// See fcgi/api/openai/chat_messages.h.
#include "fcgi/api/openai/chat_messages.h"

#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "lib/http/openai_error.h"
#include "lib/json.h"

namespace hostler {
namespace {

constexpr size_t messages_max = 10'000;
constexpr size_t calls_max = 1'000;  // of a message
constexpr TextBounds id_bounds{.min = 1, .max = 256};

// The text of a part; only text can be told.
std::string part_text(Fields& message, const Json& part, size_t nth) {
  std::string_view type = part.is_object() ? part.text_or("type") : "";
  if (type == "text" || type == "refusal") return std::string(part.text_or(type));
  std::string code = type.empty() ? "wrong_type" : std::string(http::unsupported_parameter);
  message.fault(fmt::format("content.{}", nth), std::move(code),
                type.empty() ? "must be an object with type and text"
                             : fmt::format("of the type {} is not supported here", type));
  return {};
}

// A text, or parts whose texts stand one behind the other. of_assistant: may be absent.
std::string read_content(Fields& message, bool may_be_absent) {
  const Json* content = message.any("content");
  if (content == nullptr || content->is_null()) {
    if (!may_be_absent) message.fault("content", "required", "is required");
    return {};
  }
  if (content->is_text()) return *content->as_text();
  const Json::Array* parts = content->as_array();
  if (parts == nullptr) {
    message.fault("content", "wrong_type", "must be a text or an array of parts");
    return {};
  }
  std::string text;
  for (size_t i = 0; i < parts->size(); ++i) text += part_text(message, (*parts)[i], i);
  return text;
}

void write_calls(std::vector<Fields>& calls, JsonWriter& json) {
  if (calls.empty()) return;
  json.key("tool_calls").begin_array();
  for (Fields& call : calls) {
    std::string id = call.required_text("id", id_bounds);
    json.begin_object().member("id", id);
    Nullable<Fields> function = call.nullable_object("function");
    if (function.value) {
      json.member("name", function.value->required_text("name", id_bounds));
      json.member("arguments", function.value->required_text("arguments", {.takes_control = true}));
    } else {
      call.fault("function", "required", "is required");
    }
    json.end_object();
  }
  json.end_array();
}

void write_message(Fields& message, JsonWriter& json, std::vector<std::string>& answered_calls) {
  std::string role =
      message.required_choice("role", {"system", "developer", "user", "assistant", "tool"});
  bool is_assistant = role == "assistant";
  std::vector<Fields> calls;
  if (is_assistant) calls = message.optional_objects("tool_calls", calls_max);
  json.begin_object().member("role", role == "developer" ? "system" : role);
  json.member("content", read_content(message, !calls.empty()));
  if (role == "tool") {
    std::string id = message.required_text("tool_call_id", id_bounds);
    json.member("tool_call_id", id);
    answered_calls.push_back(std::move(id));
  }
  write_calls(calls, json);
  json.end_object();
}

}  // namespace

ChatMessages read_chat_messages(Fields& fields) {
  std::vector<Fields> messages = fields.optional_objects("messages", messages_max);
  if (messages.empty() && !fields.has("messages")) {
    fields.fault("messages", "required", "is required");
  } else if (messages.empty() && fields.any("messages")->as_array() != nullptr) {
    fields.fault("messages", "too_short", "must have at least 1 item");
  }
  JsonWriter json;
  json.begin_array();
  ChatMessages chat;
  std::vector<std::string>& calls = chat.answered_calls;
  for (Fields& message : messages) write_message(message, json, calls);
  chat.history = json.end_array().take();
  calls.erase(calls.begin(), calls.begin() + static_cast<ptrdiff_t>(first_looked_up(calls.size())));
  return chat;
}

size_t first_looked_up(size_t answered) {
  constexpr size_t looked_up_max = 200;
  constexpr size_t step = 100;
  if (answered <= looked_up_max) return 0;
  return (answered - step - 1) / step * step;
}

}  // namespace hostler
