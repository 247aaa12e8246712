// See lib/formats/openai_response_object.h. The shapes are of OpenAI's reference, "Responses".
#include "lib/formats/openai_response_object.h"

#include <optional>

#include <fmt/format.h>

#include "lib/json.h"

namespace hostler::formats {
namespace {

std::string usage_json(std::string_view stored) {
  std::optional<Json> usage = parse_json_or_nothing(stored);
  if (!usage) return "null";
  int64_t input = usage->integer_or("input_tokens", 0);
  int64_t output = usage->integer_or("output_tokens", 0);
  JsonWriter json;
  json.begin_object().member("input_tokens", input).key("input_tokens_details").begin_object();
  json.member("cached_tokens", usage->integer_or("cache_read_tokens", 0));
  json.member("cache_write_tokens", usage->integer_or("cache_write_tokens", 0)).end_object();
  json.member("output_tokens", output).key("output_tokens_details").begin_object();
  json.member("reasoning_tokens", 0).end_object().member("total_tokens", input + output);
  return json.end_object().take();
}

// A number of seconds, or null for 0.
void write_time(std::string_view name, int64_t seconds, JsonWriter& json) {
  json.key(name);
  if (seconds == 0) {
    json.null();
  } else {
    json.integer(seconds);
  }
}

void write_error(const ResponseState& state, JsonWriter& json) {
  json.key("error");
  if (state.error_code.empty()) {
    json.null();
    return;
  }
  json.begin_object().member("code", state.error_code);
  json.member("message", state.error_message).end_object();
}

std::string text_part(std::string_view type, std::string_view text, bool is_answer) {
  JsonWriter json;
  json.begin_object().member("type", type);
  if (is_answer) json.member_raw("annotations", "[]").member_raw("logprobs", "[]");
  return json.member("text", text).end_object().take();
}

}  // namespace

std::string response_object(std::string_view run_id, std::string_view client_facts,
                            const ResponseState& state) {
  JsonWriter json;
  json.begin_object().member("id", response_id(run_id)).member("object", "response");
  json.member("created_at", seconds_of_id(run_id)).member("status", state.status);
  write_time("completed_at", state.completed_at, json);
  write_error(state, json);
  json.key("incomplete_details");
  if (state.incomplete_reason.empty()) {
    json.null();
  } else {
    json.begin_object().member("reason", state.incomplete_reason).end_object();
  }
  json.member_raw("output", fmt::format("[{}]", state.output));
  json.member_raw("usage", usage_json(state.usage)).end_object();
  std::string object = json.take();
  constexpr std::string_view no_facts = "{}";
  if (client_facts.size() <= no_facts.size()) return object;
  object.back() = ',';
  return object.append(client_facts.substr(1));
}

// A UUIDv7's first 48 bits are milliseconds since 1970.
int64_t seconds_of_id(std::string_view id) {
  int64_t ms = 0;
  int digits = 0;
  for (char c : id) {
    if (c == '-') continue;
    if (digits++ == 12) break;
    int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    ms = ms * 16 + digit;
  }
  return ms / 1000;
}

std::string conversation_id(std::string_view thread_id) {
  return fmt::format("conv_{}", thread_id);
}
std::string response_id(std::string_view run_id) { return fmt::format("resp_{}", run_id); }

std::string response_item_id(std::string_view kind, std::string_view run_id, int64_t index) {
  return fmt::format("{}_{}_{}", kind, run_id, index);
}

std::string output_text_part(std::string_view text) { return text_part("output_text", text, true); }
std::string reasoning_text_part(std::string_view text) {
  return text_part("reasoning_text", text, false);
}

std::string message_item(std::string_view id, std::string_view status, std::string_view part) {
  JsonWriter json;
  json.begin_object().member("id", id).member("type", "message").member("status", status);
  json.member("role", "assistant").member_raw("content", fmt::format("[{}]", part));
  return json.end_object().take();
}

std::string reasoning_item(std::string_view id, std::string_view status, std::string_view part) {
  JsonWriter json;
  json.begin_object().member("id", id).member("type", "reasoning").member("status", status);
  json.member_raw("summary", "[]").member_raw("content", fmt::format("[{}]", part));
  return json.end_object().take();
}

std::string function_call_item(std::string_view id, std::string_view status,
                               const FunctionCall& call) {
  JsonWriter json;
  json.begin_object().member("id", id).member("type", "function_call").member("status", status);
  json.member("call_id", call.call_id).member("name", call.name);
  return json.member("arguments", call.arguments).end_object().take();
}

}  // namespace hostler::formats
