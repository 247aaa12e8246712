// See runner/conversation.h.
#include "runner/conversation.h"

#include <algorithm>

#include "lib/json.h"

namespace hostler::runner {

int64_t history_bytes_max(int64_t context_tokens) { return context_tokens / 4 * 3 * 3; }

std::vector<ChatMessage> history_of(const Result& rows) {
  std::vector<ChatMessage> messages;
  for (int i = rows.size() - 1; i >= 0; --i) {
    ChatMessage message;
    bool is_answer = rows[i].text("role") == "assistant";
    message.role = is_answer ? ChatRole::assistant : ChatRole::user;
    message.text = rows[i].text("content");
    messages.push_back(std::move(message));
  }
  return messages;
}

std::string tool_calls_json(const std::vector<ToolCall>& calls) {
  JsonWriter json;
  json.begin_array();
  for (const ToolCall& call : calls) {
    json.begin_object();
    json.member("id", call.id).member("name", call.name).member("arguments", call.arguments);
    json.end_object();
  }
  return json.end_array().take();
}

std::vector<ToolCall> tool_calls_from(std::string_view json) {
  std::vector<ToolCall> calls;
  std::optional<Json> parsed = parse_json_or_nothing(json);
  if (!parsed || !parsed->is_array()) return calls;
  for (const Json& item : *parsed->as_array()) {
    ToolCall call;
    call.id = item.text_or("id");
    call.name = item.text_or("name");
    call.arguments = item.text_or("arguments");
    calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace hostler::runner
