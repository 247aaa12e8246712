// See lib/formats/ui_chunks.h. The shapes are those of uiMessageChunkSchema in the package ai.
#include "lib/formats/ui_chunks.h"

#include <fmt/format.h>

namespace hostler::formats {
namespace {

JsonWriter chunk(std::string_view type) {
  JsonWriter json;
  json.begin_object().member("type", type);
  return json;
}

std::string type_of(UiText kind, std::string_view what) {
  return fmt::format("{}-{}", kind == UiText::text ? "text" : "reasoning", what);
}

}  // namespace

void UiChunks::write(JsonWriter& json) {
  json.end_object();
  out_.append("data: ").append(json.so_far()).append("\n\n");
}

void UiChunks::start(std::string_view metadata) {
  JsonWriter json = chunk("start");
  json.member("messageId", message_id_);
  if (!metadata.empty()) json.member_raw("messageMetadata", metadata);
  write(json);
}

void UiChunks::start_step() {
  JsonWriter json = chunk("start-step");
  write(json);
}

void UiChunks::finish_step() {
  JsonWriter json = chunk("finish-step");
  write(json);
}

void UiChunks::start_text(UiText kind, std::string_view id) {
  JsonWriter json = chunk(type_of(kind, "start"));
  json.member("id", id);
  write(json);
}

void UiChunks::add_text(UiText kind, std::string_view id, std::string_view text) {
  JsonWriter json = chunk(type_of(kind, "delta"));
  json.member("id", id).member("delta", text);
  write(json);
}

void UiChunks::end_text(UiText kind, std::string_view id) {
  JsonWriter json = chunk(type_of(kind, "end"));
  json.member("id", id);
  write(json);
}

void UiChunks::tool_input(const UiCall& call, UiRunner runner) {
  JsonWriter json = chunk("tool-input-available");
  json.member("toolCallId", call.id).member("toolName", call.tool_name);
  json.member_raw("input", call.input);
  if (runner != UiRunner::client) json.member("providerExecuted", runner == UiRunner::here);
  write(json);
}

void UiChunks::approval_request(std::string_view call_id, std::string_view approval_id) {
  JsonWriter json = chunk("tool-approval-request");
  json.member("approvalId", approval_id).member("toolCallId", call_id);
  write(json);
}

void UiChunks::approval_response(std::string_view, std::string_view approval_id, bool is_approved,
                                 std::string_view reason) {
  if (approvals_ == Approvals::known_to_client) return;
  JsonWriter json = chunk("tool-approval-response");
  json.member("approvalId", approval_id).member("approved", is_approved);
  if (!reason.empty()) json.member("reason", reason);
  write(json);
}

void UiChunks::tool_output(std::string_view call_id, std::string_view output_json, bool ran_here) {
  JsonWriter json = chunk("tool-output-available");
  json.member("toolCallId", call_id).member_raw("output", output_json);
  if (ran_here) json.member("providerExecuted", true);
  write(json);
}

void UiChunks::tool_error(std::string_view call_id, std::string_view message, bool ran_here) {
  JsonWriter json = chunk("tool-output-error");
  json.member("toolCallId", call_id).member("errorText", message);
  if (ran_here) json.member("providerExecuted", true);
  write(json);
}

void UiChunks::tool_denied(std::string_view call_id) {
  JsonWriter json = chunk("tool-output-denied");
  json.member("toolCallId", call_id);
  write(json);
}

void UiChunks::data(std::string_view name, std::string_view id, std::string_view data_json) {
  JsonWriter json = chunk(fmt::format("data-{}", name));
  json.member("id", id).member_raw("data", data_json);
  write(json);
}

void UiChunks::end(const UiEnd& end) {
  bool is_waiting = end.kind == UiEnd::Kind::waiting;
  if (is_waiting || end.kind == UiEnd::Kind::completed) {
    JsonWriter json = chunk("finish");
    constexpr std::string_view reasons[] = {"stop", "length", "content-filter"};
    std::string_view reason = reasons[static_cast<size_t>(end.cut)];
    json.member("finishReason", is_waiting ? "tool-calls" : reason);
    if (!end.metadata.empty()) json.member_raw("messageMetadata", end.metadata);
    write(json);
  } else {
    if (!end.metadata.empty()) {
      JsonWriter json = chunk("message-metadata");
      json.member_raw("messageMetadata", end.metadata);
      write(json);
    }
    JsonWriter json = chunk(end.kind == UiEnd::Kind::cancelled ? "abort" : "error");
    if (end.kind != UiEnd::Kind::cancelled) json.member("errorText", end.error);
    write(json);
  }
  out_ += "data: [DONE]\n\n";
}

}  // namespace hostler::formats
