// Written against Anthropic's API reference (Messages). See runner/models/anthropic.h.
#include "runner/models/anthropic.h"

#include <algorithm>
#include <set>

#include "lib/crypto.h"
#include "runner/models/format_words.h"

namespace hostler {
namespace {

constexpr std::string_view default_base_url = "https://api.anthropic.com";
constexpr std::string_view api_version = "2023-06-01";
// The API has no default. Every model in service can write that much.
constexpr int64_t default_output_tokens_max = 8192;

bool is_of_user(const ChatMessage& message) {
  return message.role == ChatRole::user || message.role == ChatRole::tool;
}

// A part of a message: a text, an image, what a tool answered, or a call.
struct Block {
  const ChatMessage* result = nullptr;
  const ToolCall* call = nullptr;
  const OpaquePart* opaque = nullptr;
  const ImagePart* image = nullptr;
  std::string_view text = {};
  std::string_view name = {};  // of who says the text
  bool ends_cached = false;
};

struct WireMessage {
  bool is_user = true;
  std::vector<Block> blocks = {};
};

Block text_block(std::string_view text) { return {.text = text}; }

// The API refuses texts that are empty or hold nothing but spaces.
std::vector<Block> blocks_of(const ChatMessage& message) {
  std::vector<Block> blocks;
  if (message.role == ChatRole::tool) return {Block{.result = &message}};
  bool says_anything = false;
  for (const Part& part : message.parts) {
    if (const TextPart* text_part = std::get_if<TextPart>(&part)) {
      if (is_blank(text_part->text)) continue;
      std::string_view name = message.name;
      if (says_anything) name = {};
      blocks.push_back({.text = text_part->text, .name = name});
    } else if (const ToolCall* call = std::get_if<ToolCall>(&part)) {
      blocks.push_back({.call = call});
    } else if (const ImagePart* image = std::get_if<ImagePart>(&part)) {
      blocks.push_back({.image = image});
    } else {
      const OpaquePart& opaque = std::get<OpaquePart>(part);
      if (opaque.place == OpaquePart::Place::block) blocks.push_back({.opaque = &opaque});
      continue;
    }
    says_anything = true;
  }
  if (!says_anything) blocks.clear();
  if (blocks.empty() && message.role == ChatRole::user) {
    blocks.push_back(text_block("(The message is empty.)"));
  }
  return blocks;
}

// The API has no member for who speaks, so it is said.
std::string spoken(std::string_view name, std::string_view text) {
  std::string words(name);
  if (!name.empty()) words += ": ";
  return words += text;
}

// Roles take turns: what one of the two says in a row becomes one message, and the results of a
// turn's tool calls stand together at the head of the user's next one. The API wants the user to
// have the first word, and the last: newer models refuse to go on with a message of their own.
std::vector<WireMessage> wire_messages(const std::vector<ChatMessage>& messages) {
  std::vector<WireMessage> wire;
  for (const ChatMessage& message : messages) {
    std::vector<Block> blocks;
    if (message.role != ChatRole::system) blocks = blocks_of(message);
    if (blocks.empty()) continue;
    bool is_user = is_of_user(message);
    // A history that was cut begins with an answer.
    if (!is_user && wire.empty()) {
      wire.push_back({true, {text_block("(Earlier messages are left out.)")}});
    }
    if (wire.empty() || wire.back().is_user != is_user) wire.push_back({is_user});
    std::vector<Block>& all = wire.back().blocks;
    all.insert(all.end(), blocks.begin(), blocks.end());
  }
  if (wire.empty()) wire.push_back({true, {text_block("(The message is empty.)")}});
  if (!wire.back().is_user) wire.push_back({true, {text_block("(Go on.)")}});
  return wire;
}

// The API refuses ids with other characters than names have; a history that a client gave may hold
// any. Its hash keeps such an id apart from all others, and the same from turn to turn.
std::string id_on_the_wire(const std::string& id) {
  constexpr size_t kept_max = 32;
  constexpr size_t hash_digits = 24;
  std::string safe = name_on_the_wire(id);
  if (safe == id) return safe;
  return safe.substr(0, kept_max) + "_" + to_hex(sha256(id)).substr(0, hash_digits);
}

void write_call(JsonWriter& json, const ToolCall& call) {
  json.member("type", "tool_use").member("id", id_on_the_wire(call.id));
  json.member("name", name_on_the_wire(call.name));
  json.member_raw("input", arguments_object(call.arguments));
}

// Up to here the provider keeps what it reads, for five minutes, and reads what it kept. It takes
// four of these marks: behind the tools, the system text, what the last turn was sent, and all.
void write_cache_mark(JsonWriter& json) {
  json.key("cache_control").begin_object().member("type", "ephemeral").end_object();
}

// The last turn's request ended with the user message before the last one. That message is marked,
// because the provider looks for cached input at no more than 20 blocks before a mark, and a turn
// may have more calls and results. The first turn of a thread's next run finds there what the first
// one of this run left.
void mark_messages(std::vector<WireMessage>& messages) {
  messages.back().blocks.back().ends_cached = true;
  if (messages.size() >= 3) messages[messages.size() - 3].blocks.back().ends_cached = true;
}

void write_image(JsonWriter& json, const ImagePart& image) {
  json.member("type", "image").key("source").begin_object().member("type", "base64");
  json.member("media_type", image.sent_type).member("data", *image.base64).end_object();
}

void write_block(JsonWriter& json, const Block& block) {
  if (block.opaque != nullptr) {
    json.raw(block.opaque->data);
    return;
  }
  json.begin_object();
  if (block.call != nullptr) {
    write_call(json, *block.call);
  } else if (block.image != nullptr) {
    write_image(json, *block.image);
  } else if (block.result != nullptr) {
    json.member("type", "tool_result");
    json.member("tool_use_id", id_on_the_wire(block.result->tool_call_id));
    json.member("content", block.result->text());
  } else {
    json.member("type", "text").member("text", spoken(block.name, block.text));
  }
  if (block.ends_cached) write_cache_mark(json);
  json.end_object();
}

void write_messages(JsonWriter& json, const std::vector<WireMessage>& messages) {
  json.key("messages").begin_array();
  for (const WireMessage& message : messages) {
    json.begin_object().member("role", message.is_user ? "user" : "assistant");
    json.key("content").begin_array();
    for (const Block& block : message.blocks) write_block(json, block);
    json.end_array().end_object();
  }
  json.end_array();
}

// The API accepts such texts in one place, before the conversation. Later ones are put there too.
std::string system_text(const std::vector<ChatMessage>& messages) {
  std::string text;
  for (const ChatMessage& message : messages) {
    if (message.role != ChatRole::system || message.parts.empty()) continue;
    if (!text.empty()) text += "\n\n";
    text += spoken(message.name, message.text());
  }
  return text;
}

// The API requires tools in a request whose messages contain tool calls. A run may have lost its
// tools while it waited for its user, so the existing calls stand for them.
std::vector<ToolDefinition> tools_of(const ModelRequest& request) {
  std::vector<ToolDefinition> tools = request.tools;
  if (!tools.empty()) return tools;
  std::set<std::string> names;
  for (const ChatMessage& message : request.messages) {
    for (const Part& part : message.parts) {
      const ToolCall* call = std::get_if<ToolCall>(&part);
      if (call != nullptr) names.insert(name_on_the_wire(call->name));
    }
  }
  for (const std::string& name : names) {
    tools.push_back({name, "Not available any more.", R"({"type":"object"})"});
  }
  return tools;
}

void write_settings(JsonWriter& json, const ModelRequest& request) {
  json.member("model", request.endpoint.model);
  json.member("max_tokens", request.output_tokens_max.value_or(default_output_tokens_max));
  json.member("stream", true);
  // Their scale ends at 1, that of personas at 2; a caller who wants more is refused.
  if (request.temperature && !request.traits.no_temperature) {
    json.member("temperature", std::min(*request.temperature, 1.0));
  }
  const Sampling& sampling = request.sampling;
  if (sampling.top_p) json.member("top_p", *sampling.top_p);
  if (!sampling.stop.empty()) {
    json.key("stop_sequences").begin_array();
    for (const std::string& text : sampling.stop) json.text(text);
    json.end_array();
  }
  const std::optional<ResponseFormat>& format = request.response_format;
  bool has_mode = format && has_own_mode(ProviderKind::anthropic, *format);
  if (has_mode && !request.traits.no_response_format) {
    json.key("output_config").begin_object().key("format").begin_object();
    json.member("type", "json_schema").member_raw("schema", format->schema);
    json.end_object().end_object();
  }
}

void write_tools(JsonWriter& json, const std::vector<ToolDefinition>& tools) {
  json.key("tools").begin_array();
  for (const ToolDefinition& tool : tools) {
    json.begin_object().member("name", tool.name).member("description", tool.description);
    json.member_raw("input_schema", tool.parameters);
    if (&tool == &tools.back()) write_cache_mark(json);
    json.end_object();
  }
  json.end_array();
}

std::string_view choice_type(ToolChoice::Kind kind) {
  switch (kind) {
    case ToolChoice::Kind::none:
      return "none";
    case ToolChoice::Kind::required:
      return "any";
    case ToolChoice::Kind::named:
      return "tool";
    case ToolChoice::Kind::automatic:
      return "auto";
  }
  return "auto";
}

// That calls are made one at a time is a part of the choice; who may call nothing is not told.
void write_tool_choice(JsonWriter& json, const Sampling& sampling, const ModelTraits& traits) {
  bool is_single = !sampling.parallel_tool_calls.value_or(true) && !traits.no_parallel_tool_calls;
  if (!sampling.tool_choice && !is_single) return;
  ToolChoice choice = sampling.tool_choice.value_or(ToolChoice());
  json.key("tool_choice").begin_object().member("type", choice_type(choice.kind));
  if (choice.kind == ToolChoice::Kind::named) json.member("name", name_on_the_wire(choice.name));
  if (is_single && choice.kind != ToolChoice::Kind::none) {
    json.member("disable_parallel_tool_use", true);
  }
  json.end_object();
}

void write_system(JsonWriter& json, std::string_view text) {
  json.key("system").begin_array();
  json.begin_object().member("type", "text").member("text", text);
  write_cache_mark(json);
  json.end_object().end_array();
}

// In the order in which models read it: what a turn adds comes last.
std::string write_body(const ModelRequest& request) {
  JsonWriter json;
  json.begin_object();
  write_settings(json, request);
  if (!request.tools.empty()) write_tool_choice(json, request.sampling, request.traits);
  std::vector<ToolDefinition> tools = tools_of(request);
  if (!tools.empty()) write_tools(json, tools);
  std::string system = system_text(request.messages);
  append_turn_text(system, replaced_mode_words(request));
  if (!is_blank(system)) write_system(json, system);
  std::vector<WireMessage> messages = wire_messages(request.messages);
  mark_messages(messages);
  write_messages(json, messages);
  json.end_object();
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

}  // namespace hostler
