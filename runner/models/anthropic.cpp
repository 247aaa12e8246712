// Written against Anthropic's API reference (Messages, streaming messages). See
// runner/models/anthropic.h.
#include "runner/models/anthropic.h"

#include <algorithm>
#include <set>

namespace hostler {
namespace {

constexpr std::string_view default_base_url = "https://api.anthropic.com";
constexpr std::string_view api_version = "2023-06-01";
// The API has no default. Every model in service can write that much.
constexpr int64_t default_output_tokens_max = 8192;

bool is_of_user(const ChatMessage& message) {
  return message.role == ChatRole::user || message.role == ChatRole::tool;
}

// The API refuses texts that are empty or hold nothing but spaces.
bool is_empty_message(const ChatMessage& message) {
  bool may_be_empty = message.role == ChatRole::tool || !message.tool_calls.empty();
  return is_blank(message.text) && !may_be_empty;
}

void write_text_block(JsonWriter& json, std::string_view text) {
  json.begin_object().member("type", "text").member("text", text).end_object();
}

void write_blocks(JsonWriter& json, const ChatMessage& message) {
  if (message.role == ChatRole::tool) {
    json.begin_object().member("type", "tool_result");
    json.member("tool_use_id", message.tool_call_id).member("content", message.text);
    json.end_object();
    return;
  }
  if (!is_blank(message.text)) write_text_block(json, message.text);
  for (const ToolCall& call : message.tool_calls) {
    std::optional<Json> arguments = parse_json_or_nothing(call.arguments);
    json.begin_object().member("type", "tool_use");
    json.member("id", call.id).member("name", name_on_the_wire(call.name));
    json.key("input");
    // The model is shown what it wrote, also when it was not an object.
    if (arguments && arguments->is_object()) {
      json.value(*arguments);
    } else {
      json.begin_object().member("not_an_object", call.arguments).end_object();
    }
    json.end_object();
  }
}

void begin_message(JsonWriter& json, bool is_user) {
  json.begin_object().member("role", is_user ? "user" : "assistant").key("content").begin_array();
}

// Roles take turns: neighbours of one role become one message, and the results of a turn's tool
// calls stand together at the head of the user's next one. The API wants the user to have the first
// word, and the last: newer models refuse to go on with a message of their own.
void write_messages(JsonWriter& json, const std::vector<ChatMessage>& messages) {
  json.key("messages").begin_array();
  bool is_open = false;
  bool is_user = true;
  for (const ChatMessage& message : messages) {
    if (message.role == ChatRole::system || is_empty_message(message)) continue;
    if (!is_open) {
      begin_message(json, is_user);
      is_open = true;
      // A history that was cut begins with an answer.
      if (!is_of_user(message)) write_text_block(json, "(Earlier messages are left out.)");
    }
    if (is_user != is_of_user(message)) {
      json.end_array().end_object();
      is_user = !is_user;
      begin_message(json, is_user);
    }
    write_blocks(json, message);
  }
  if (!is_open || !is_user) {
    if (is_open) json.end_array().end_object();
    begin_message(json, true);
    write_text_block(json, is_open ? "(Go on.)" : "(The message is empty.)");
  }
  json.end_array().end_object().end_array();
}

std::string system_text(const std::vector<ChatMessage>& messages) {
  std::string text;
  for (const ChatMessage& message : messages) {
    if (message.role != ChatRole::system || message.text.empty()) continue;
    if (!text.empty()) text += "\n\n";
    text += message.text;
  }
  return text;
}

// Of a request whose messages hold tool calls the API wants tools. A run may have lost them while
// it waited for its user: the calls that there are stand for them.
std::vector<ToolDefinition> tools_of(const ModelRequest& request) {
  std::vector<ToolDefinition> tools = request.tools;
  if (!tools.empty()) return tools;
  std::set<std::string> names;
  for (const ChatMessage& message : request.messages) {
    for (const ToolCall& call : message.tool_calls) names.insert(name_on_the_wire(call.name));
  }
  for (const std::string& name : names) {
    tools.push_back({name, "Not available any more.", R"({"type":"object"})"});
  }
  return tools;
}

std::string write_body(const ModelRequest& request) {
  JsonWriter json;
  json.begin_object().member("model", request.endpoint.model);
  json.member("max_tokens", request.output_tokens_max.value_or(default_output_tokens_max));
  std::string system = system_text(request.messages);
  if (!system.empty()) json.member("system", system);
  write_messages(json, request.messages);
  std::vector<ToolDefinition> tools = tools_of(request);
  if (!tools.empty()) {
    json.key("tools").begin_array();
    for (const ToolDefinition& tool : tools) {
      json.begin_object().member("name", tool.name).member("description", tool.description);
      json.member_raw("input_schema", tool.parameters).end_object();
    }
    json.end_array();
  }
  // Their scale ends at 1, that of personas at 2.
  if (request.temperature) json.member("temperature", std::min(*request.temperature, 1.0));
  json.member("stream", true).end_object();
  return json.take();
}

}  // namespace

http::HttpRequest anthropic_request(const ModelRequest& request) {
  std::string base_url = request.endpoint.base_url;
  if (base_url.empty()) base_url = default_base_url;
  while (base_url.ends_with('/')) base_url.pop_back();
  http::HttpRequest http;
  http.method = "POST";
  http.url = base_url + "/v1/messages";
  http.headers = {{"Content-Type", "application/json"},
                  {"Accept", "text/event-stream"},
                  {"anthropic-version", std::string(api_version)}};
  if (!request.endpoint.api_key.empty()) {
    http.headers.emplace_back("x-api-key", request.endpoint.api_key);
  }
  http.body = write_body(request);
  http.guarded = request.endpoint.guarded;
  return http;
}

void AnthropicReader::take_event(const Json& event) {
  std::string_view type = event.text_or("type");
  if (type == "message_start") {
    if (const Json* message = event.find("message")) take_usage(*message, false);
  } else if (type == "content_block_start") {
    const Json* block = event.find("content_block");
    if (block != nullptr) begin_block(event.integer_or("index", 0), *block);
  } else if (type == "content_block_delta") {
    take_delta(event);
  } else if (type == "message_delta") {
    take_usage(event, true);
    if (const Json* delta = event.find("delta")) take_stop_reason(*delta);
  } else if (type == "message_stop") {
    mark_last_event();
  }
  // ping, content_block_stop, and what the API may add.
}

void AnthropicReader::take_document(const Json& document) {
  take_usage(document, true);
  const Json* content = document.find("content");
  if (content != nullptr && content->as_array() != nullptr) {
    int64_t index = 0;
    for (const Json& block : *content->as_array()) begin_block(index++, block);
  }
  take_stop_reason(document);
}

// In a stream text and thinking begin empty, and a call's input is {}: their pieces follow.
void AnthropicReader::begin_block(int64_t index, const Json& block) {
  std::string_view type = block.text_or("type");
  if (type == "text") {
    add_text(TextChannel::answer, block.text_or("text"));
  } else if (type == "thinking") {
    add_text(TextChannel::thinking, block.text_or("thinking"));
  } else if (type == "tool_use") {
    ToolCall* call = open_call(index);
    if (call == nullptr) return;
    call->id = utf8_prefix(block.text_or("id"), 256);
    call->name = utf8_prefix(block.text_or("name"), 256);
    const Json* input = block.find("input");
    bool is_whole = input != nullptr && input->is_object() && !input->as_object()->empty();
    if (is_whole) add_arguments(*call, input->dump());
  }
}

void AnthropicReader::take_delta(const Json& event) {
  const Json* delta = event.find("delta");
  if (delta == nullptr) return;
  std::string_view type = delta->text_or("type");
  if (type == "text_delta") {
    add_text(TextChannel::answer, delta->text_or("text"));
  } else if (type == "thinking_delta") {
    add_text(TextChannel::thinking, delta->text_or("thinking"));
  } else if (type == "input_json_delta") {
    ToolCall* call = call_numbered(event.integer_or("index", -1));
    if (call != nullptr) add_arguments(*call, delta->text_or("partial_json"));
  }
}

void AnthropicReader::take_stop_reason(const Json& holder) {
  std::string_view reason = holder.text_or("stop_reason");
  if (reason.empty()) return;
  if (reason == "max_tokens" || reason == "model_context_window_exceeded") {
    finish(FinishReason::length);
  } else if (reason == "tool_use") {
    finish(FinishReason::tool_calls);
  } else if (reason == "refusal") {
    finish(FinishReason::content_filter);
  } else {
    finish(FinishReason::stop);
  }
}

// message_start counts the input, message_delta the whole output; either may repeat the other's.
// Their input_tokens leave out what the cache gave or took; ours hold everything.
void AnthropicReader::take_usage(const Json& holder, bool is_final) {
  const Json* tokens = holder.find("usage");
  if (tokens == nullptr || !tokens->is_object()) return;
  if (!are_counts(*tokens, {"input_tokens", "output_tokens", "cache_read_input_tokens",
                            "cache_creation_input_tokens"})) {
    return;
  }
  ModelUsage counted = usage();
  if (tokens->find("input_tokens") != nullptr) {
    counted.cache_read_tokens = tokens_in(*tokens, "cache_read_input_tokens");
    counted.cache_write_tokens = tokens_in(*tokens, "cache_creation_input_tokens");
    counted.input_tokens =
        tokens_in(*tokens, "input_tokens") + counted.cache_read_tokens + counted.cache_write_tokens;
  }
  counted.measured = is_final;
  if (is_final) counted.output_tokens = tokens_in(*tokens, "output_tokens", counted.output_tokens);
  set_usage(counted);
}

}  // namespace hostler
