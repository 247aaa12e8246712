// See lib/formats/agui_writer.h. The shapes are those of the protocol's schema 1.0.
#include "lib/formats/agui_writer.h"

#include <optional>
#include <utility>

namespace hostler::formats::agui {
namespace {

void frame(JsonWriter& json, std::string& out) {
  out.append("data: ").append(json.end_object().take()).append("\n\n");
}

JsonWriter event(std::string_view type) {
  JsonWriter json;
  json.begin_object().member("type", type);
  return json;
}

void of_message(std::string_view type, std::string_view message_id, std::string& out) {
  JsonWriter json = event(type);
  json.member("messageId", message_id);
  frame(json, out);
}

void with_role(std::string_view type, std::string_view message_id, std::string_view role,
               std::string& out) {
  JsonWriter json = event(type);
  json.member("messageId", message_id).member("role", role);
  frame(json, out);
}

void with_delta(std::string_view type, std::string_view message_id, std::string_view delta,
                std::string& out) {
  JsonWriter json = event(type);
  json.member("messageId", message_id).member("delta", delta);
  frame(json, out);
}

JsonWriter run_event(std::string_view type, const Names& names) {
  JsonWriter json = event(type);
  json.member("threadId", names.thread_id).member("runId", names.run_id);
  return json;
}

// RUN_FINISHED up to what its outcome has besides the kind.
JsonWriter finished(const Names& names, std::string_view outcome) {
  JsonWriter json = run_event("RUN_FINISHED", names);
  json.key("outcome").begin_object().member("type", outcome);
  return json;
}

void write_usage(std::string_view stored, JsonWriter& json) {
  std::optional<Json> usage = parse_json_or_nothing(stored);
  if (!usage) return;
  int64_t input = usage->integer_or("input_tokens", 0);
  int64_t output = usage->integer_or("output_tokens", 0);
  json.key("usage").begin_array().begin_object();
  json.member("inputTokens", input).member("outputTokens", output);
  json.member("totalTokens", input + output);
  json.member("cachedInputTokens", usage->integer_or("cache_read_tokens", 0));
  json.end_object().end_array();
}

// Which answer resumes the run.
constexpr std::string_view question_schema = R"({"type":"string","minLength":1})";
constexpr std::string_view confirmation_schema =
    R"({"type":"object","required":["approved"],"properties":{"approved":{"type":"boolean"},)"
    R"("arguments":{"type":"object"},"reason":{"type":"string"}},"additionalProperties":false})";

// form: the schema that the server of a remote tool asks with; nothing: it sent none.
void write_elicitation_schema(const Json* form, JsonWriter& json) {
  json.begin_object().member("type", "object");
  json.key("required").begin_array().text("action").end_array();
  json.key("properties").begin_object().key("action").begin_object();
  json.member("type", "string").key("enum").begin_array();
  json.text("accept").text("decline").text("cancel").end_array().end_object();
  json.member_raw("content", form == nullptr ? R"({"type":"object"})" : form->dump());
  json.end_object().end_object();
}

}  // namespace

void run_started(const Names& names, std::string& out) {
  JsonWriter json = run_event("RUN_STARTED", names);
  json.member("protocolVersion", "1.0");
  frame(json, out);
}

void run_error(std::string_view code, std::string_view message, std::string& out) {
  JsonWriter json = event("RUN_ERROR");
  json.member("message", message).member("code", code);
  frame(json, out);
}

void text_started(std::string_view message_id, std::string& out) {
  with_role("TEXT_MESSAGE_START", message_id, "assistant", out);
}
void text(std::string_view message_id, std::string_view delta, std::string& out) {
  with_delta("TEXT_MESSAGE_CONTENT", message_id, delta, out);
}
void text_ended(std::string_view message_id, std::string& out) {
  of_message("TEXT_MESSAGE_END", message_id, out);
}

void reasoning_started(std::string_view message_id, std::string& out) {
  of_message("REASONING_START", message_id, out);
  with_role("REASONING_MESSAGE_START", message_id, "reasoning", out);
}
void reasoning(std::string_view message_id, std::string_view delta, std::string& out) {
  with_delta("REASONING_MESSAGE_CONTENT", message_id, delta, out);
}
void reasoning_ended(std::string_view message_id, std::string& out) {
  of_message("REASONING_MESSAGE_END", message_id, out);
  of_message("REASONING_END", message_id, out);
}

void tool_call(const Call& call, std::string& out) {
  JsonWriter start = event("TOOL_CALL_START");
  start.member("toolCallId", call.id).member("toolCallName", call.tool_name);
  start.member("parentMessageId", call.message_id);
  frame(start, out);
  JsonWriter arguments = event("TOOL_CALL_ARGS");
  arguments.member("toolCallId", call.id).member("delta", call.arguments);
  frame(arguments, out);
  JsonWriter end = event("TOOL_CALL_END");
  end.member("toolCallId", call.id);
  frame(end, out);
}

void tool_result(std::string_view message_id, std::string_view call_id, std::string_view content,
                 std::string& out) {
  JsonWriter json = event("TOOL_CALL_RESULT");
  json.member("messageId", message_id).member("toolCallId", call_id);
  json.member("content", content).member("role", "tool");
  frame(json, out);
}

void completed(const Names& names, std::string_view output, std::string_view usage,
               std::string& out) {
  JsonWriter json = finished(names, "success");
  json.end_object();
  if (!output.empty()) json.member_raw("result", output);
  if (!usage.empty()) write_usage(usage, json);
  frame(json, out);
}

void cancelled(const Names& names, std::string& out) {
  JsonWriter json = finished(names, "cancelled");
  json.end_object();
  frame(json, out);
}

void pending(const Names& names, const std::vector<std::string>& call_ids, std::string& out) {
  JsonWriter json = finished(names, "success");
  json.key("pendingToolCallIds").begin_array();
  for (const std::string& id : call_ids) json.text(id);
  json.end_array().end_object();
  frame(json, out);
}

void interrupted(const Names& names, const Json& request, bool is_call_shown, std::string& out) {
  bool is_question = request.text_or("kind") == "question";
  bool is_confirmation = request.text_or("kind") == "tool_confirmation";
  JsonWriter json = finished(names, "interrupt");
  json.key("interrupts").begin_array().begin_object();
  json.member("id", request.text_or("request_id"));
  json.member("reason", is_confirmation ? "tool_call" : "input_required");
  json.member("message", request.text_or("message"));
  if (is_call_shown) json.member("toolCallId", request.text_or("tool_call_id"));
  if (is_question) json.member_raw("responseSchema", question_schema);
  if (is_confirmation) json.member_raw("responseSchema", confirmation_schema);
  if (request.text_or("kind") == "elicitation") {
    json.key("responseSchema");
    write_elicitation_schema(request.find("schema"), json);
  }
  json.key("metadata").begin_object().member("kind", request.text_or("kind"));
  // An authorization has the page where the person connects, a budget its id and name. Only a
  // connection, or a change of the budget, continues the run.
  for (std::string_view name :
       {"tool_name", "arguments", "server_id", "server_key", "url", "origin",
        "authorization_server", "scopes", "budget_id", "name", "renews_at"}) {
    if (const Json* value = request.find(name)) json.member_raw(name, value->dump());
  }
  json.end_object().end_object().end_array().end_object();
  frame(json, out);
}

}  // namespace hostler::formats::agui
