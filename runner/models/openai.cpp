// Written against OpenAI's API reference (Chat Completions, streaming) and the habits of compatible
// servers: each departure that is accepted has a comment. See runner/models/openai.h.
#include "runner/models/openai.h"

#include <algorithm>

#include "lib/utf8.h"

namespace hostler {
namespace {

constexpr std::string_view default_base_url = "https://api.openai.com/v1";

std::string_view role_name(ChatRole role) {
  switch (role) {
    case ChatRole::system:
      return "system";
    case ChatRole::user:
      return "user";
    case ChatRole::assistant:
      return "assistant";
    case ChatRole::tool:
      return "tool";
  }
  return "user";
}

// Members that the provider sent for itself, as it sent them.
void write_own_members(JsonWriter& json, const OpaquePart& own) {
  std::optional<Json> members = parse_json_or_nothing(own.data);
  if (!members || !members->is_object()) return;
  for (const auto& [name, value] : *members->as_object()) json.key(name).value(value);
}

// What a client's history brought goes to providers that take it.
bool is_sent(const OpaquePart& own, const ModelTraits& traits) {
  if (!own.origin.empty()) return true;
  return traits.takes_given_reasoning && !traits.no_given_reasoning;
}

void write_calls(JsonWriter& json, const Parts& parts, const ModelTraits& traits) {
  json.key("tool_calls").begin_array();
  for (size_t i = 0; i < parts.size(); ++i) {
    const ToolCall* call = std::get_if<ToolCall>(&parts[i]);
    if (call == nullptr) continue;
    json.begin_object().member("id", call->id).member("type", "function");
    json.key("function").begin_object().member("name", name_on_the_wire(call->name));
    json.member("arguments", arguments_object(call->arguments)).end_object();
    const OpaquePart* own = i + 1 < parts.size() ? std::get_if<OpaquePart>(&parts[i + 1]) : nullptr;
    bool is_of_call = own != nullptr && own->place == OpaquePart::Place::call;
    if (is_of_call && is_sent(*own, traits)) write_own_members(json, *own);
    json.end_object();
  }
  json.end_array();
}

void write_message(JsonWriter& json, const ChatMessage& message, const ModelTraits& traits) {
  json.begin_object().member("role", role_name(message.role));
  if (!message.name.empty()) json.member("name", message.name);
  std::string text = message.text();
  bool calls_tools = has_calls(message.parts);
  // An assistant that only calls tools has no content; some servers insist on null, not "".
  if (text.empty() && calls_tools) {
    json.key("content").null();
  } else {
    json.member("content", text);
  }
  if (message.role == ChatRole::tool) json.member("tool_call_id", message.tool_call_id);
  for (const Part& part : message.parts) {
    const OpaquePart* own = std::get_if<OpaquePart>(&part);
    if (own != nullptr && own->place == OpaquePart::Place::message && is_sent(*own, traits)) {
      write_own_members(json, *own);
    }
  }
  if (calls_tools) write_calls(json, message.parts, traits);
  json.end_object();
}

void write_response_format(JsonWriter& json, const ResponseFormat& format) {
  json.key("response_format").begin_object();
  if (!format.has_schema) {
    json.member("type", "json_object").end_object();
    return;
  }
  json.member("type", "json_schema").key("json_schema").begin_object();
  json.member("name", format.name);
  if (!format.description.empty()) json.member("description", format.description);
  json.member_raw("schema", format.schema);
  if (format.strict) json.member("strict", *format.strict);
  json.end_object().end_object();
}

void write_sampling(JsonWriter& json, const Sampling& sampling) {
  if (sampling.top_p) json.member("top_p", *sampling.top_p);
  if (!sampling.stop.empty()) {
    json.key("stop").begin_array();
    for (const std::string& text : sampling.stop) json.text(text);
    json.end_array();
  }
  if (sampling.presence_penalty) json.member("presence_penalty", *sampling.presence_penalty);
  if (sampling.frequency_penalty) json.member("frequency_penalty", *sampling.frequency_penalty);
  if (sampling.seed) json.member("seed", *sampling.seed);
}

void write_settings(JsonWriter& json, const ModelRequest& request, std::string_view base_url) {
  json.member("model", request.endpoint.model).member("stream", true);
  json.key("stream_options").begin_object().member("include_usage", true).end_object();
  if (request.temperature && !request.traits.no_temperature) {
    json.member("temperature", *request.temperature);
  }
  write_sampling(json, request.sampling);
  if (request.output_tokens_max) {
    // OpenAI's newer models refuse the old name, compatible servers often know no other.
    bool is_openai = base_url.starts_with("https://api.openai.com/");
    json.member(is_openai ? "max_completion_tokens" : "max_tokens", *request.output_tokens_max);
  }
  if (request.response_format) write_response_format(json, *request.response_format);
}

void write_tools(JsonWriter& json, const std::vector<ToolDefinition>& tools) {
  json.key("tools").begin_array();
  for (const ToolDefinition& tool : tools) {
    json.begin_object().member("type", "function");
    json.key("function").begin_object();
    json.member("name", tool.name).member("description", tool.description);
    json.member_raw("parameters", tool.parameters);
    if (tool.strict) json.member("strict", *tool.strict);
    json.end_object().end_object();
  }
  json.end_array();
}

// Without tools the API refuses both members.
void write_tool_choice(JsonWriter& json, const Sampling& sampling) {
  if (sampling.tool_choice) {
    const ToolChoice& choice = *sampling.tool_choice;
    json.key("tool_choice");
    if (choice.kind == ToolChoice::Kind::named) {
      json.begin_object().member("type", "function").key("function").begin_object();
      json.member("name", name_on_the_wire(choice.name)).end_object().end_object();
    } else {
      json.text(choice.kind == ToolChoice::Kind::none       ? "none"
                : choice.kind == ToolChoice::Kind::required ? "required"
                                                            : "auto");
    }
  }
  if (sampling.parallel_tool_calls) {
    json.member("parallel_tool_calls", *sampling.parallel_tool_calls);
  }
}

// In the order in which models read it: what a turn adds comes last. A server that keeps what it
// read finds it again.
std::string write_body(const ModelRequest& request, std::string_view base_url) {
  JsonWriter json;
  json.begin_object();
  write_settings(json, request, base_url);
  if (!request.tools.empty()) {
    write_tool_choice(json, request.sampling);
    write_tools(json, request.tools);
  }
  json.key("messages").begin_array();
  for (const ChatMessage& message : request.messages) {
    write_message(json, message, request.traits);
  }
  json.end_array().end_object();
  return json.take();
}

// A further piece of a detail: text goes on, what else it says replaces.
void join_detail(Json::Object& detail, const Json::Object& piece) {
  for (const auto& [name, value] : piece) {
    if (value.is_null()) continue;
    auto known = std::find_if(detail.begin(), detail.end(),
                              [&name = name](const Json::Member& m) { return m.first == name; });
    bool is_text = name == "text" || name == "summary" || name == "data";
    if (known == detail.end()) {
      detail.emplace_back(name, value);
    } else if (is_text && known->second.is_text() && value.is_text()) {
      *known->second.as_text() += *value.as_text();
    } else {
      known->second = value;
    }
  }
}

FinishReason finish_reason_named(std::string_view name) {
  if (name == "length") return FinishReason::length;
  if (name == "tool_calls" || name == "function_call") return FinishReason::tool_calls;
  if (name == "content_filter") return FinishReason::content_filter;
  return FinishReason::stop;
}

}  // namespace

http::HttpRequest openai_request(const ModelRequest& request) {
  std::string base_url = request.endpoint.base_url;
  if (base_url.empty()) base_url = default_base_url;
  while (base_url.ends_with('/')) base_url.pop_back();
  http::HttpRequest http;
  http.method = "POST";
  http.url = base_url + "/chat/completions";
  http.headers = {{"Content-Type", "application/json"}, {"Accept", "text/event-stream"}};
  if (!request.endpoint.api_key.empty()) {
    http.headers.emplace_back("Authorization", "Bearer " + request.endpoint.api_key);
  }
  http.body = write_body(request, base_url);
  http.guarded = request.endpoint.guarded;
  return http;
}

void OpenAiReader::take_event(const Json& event) {
  take_usage(event);
  take_choices(event, "delta");
}

void OpenAiReader::take_document(const Json& document) {
  take_usage(document);
  take_choices(document, "message");
}

// Azure's first chunk has no choices, the last one with the usage neither.
void OpenAiReader::take_choices(const Json& event, std::string_view message_member) {
  const Json* choices = event.find("choices");
  if (choices == nullptr || choices->as_array() == nullptr) return;
  for (const Json& choice : *choices->as_array()) {
    if (choice.integer_or("index", 0) != 0) continue;
    if (const Json* message = choice.find(message_member)) take_message(*message);
    const Json* reason = choice.find("finish_reason");
    if (reason != nullptr && reason->is_text() && !reason->as_text()->empty()) {
      finish(finish_reason_named(*reason->as_text()));
    }
  }
}

void OpenAiReader::take_message(const Json& message) {
  // DeepSeek and others say reasoning_content, OpenRouter and others reasoning; some say both.
  const Json* thinking = message.find("reasoning_content");
  if (thinking == nullptr || !thinking->is_text()) thinking = message.find("reasoning");
  take_content(TextChannel::thinking, thinking);
  take_content(TextChannel::answer, message.find("content"));
  take_content(TextChannel::answer, message.find("refusal"));
  const Json* calls = message.find("tool_calls");
  if (calls != nullptr) take_tool_calls(*calls);
  take_own_members(message);
}

// What providers want back with the message: their reasoning, which comes in pieces, and Google's
// extra_content with its signatures.
void OpenAiReader::take_own_members(const Json& message) {
  for (const char* name : {"reasoning_content", "reasoning"}) {
    const Json* piece = message.find(name);
    if (piece == nullptr || !piece->is_text() || !count_opaque(piece->as_text()->size())) continue;
    own_texts_[name] += *piece->as_text();
  }
  const Json* details = message.find("reasoning_details");
  if (details != nullptr && details->is_array()) {
    for (const Json& detail : *details->as_array()) take_reasoning_detail(detail);
  }
  const Json* extra = message.find("extra_content");
  if (extra != nullptr && extra->is_object()) {
    std::string text = extra->dump();
    if (count_opaque(text.size())) own_extra_ = std::move(text);
  }
}

// OpenRouter: pieces of one detail have its type and index; what is no text is sent once.
void OpenAiReader::take_reasoning_detail(const Json& detail) {
  if (!detail.is_object() || !count_opaque(detail.dump().size())) return;
  if (!own_details_.empty()) {
    Json& last = own_details_.back();
    bool goes_on = last.text_or("type") == detail.text_or("type") &&
                   last.integer_or("index", -1) == detail.integer_or("index", -1) &&
                   detail.find("index") != nullptr;
    if (goes_on) {
      join_detail(*last.as_object(), *detail.as_object());
      return;
    }
  }
  own_details_.push_back(detail);
}

std::string OpenAiReader::message_members() const {
  if (own_texts_.empty() && own_details_.empty() && own_extra_.empty()) return {};
  JsonWriter json;
  json.begin_object();
  for (const auto& [name, text] : own_texts_) json.member(name, text);
  if (!own_details_.empty()) {
    json.key("reasoning_details").begin_array();
    for (const Json& detail : own_details_) json.value(detail);
    json.end_array();
  }
  if (!own_extra_.empty()) json.member_raw("extra_content", own_extra_);
  return json.end_object().take();
}

// A text; or, from Mistral, a list of parts.
void OpenAiReader::take_content(TextChannel channel, const Json* content) {
  if (content == nullptr) return;
  if (const std::string* text = content->as_text()) add_text(channel, *text);
  if (content->as_array() == nullptr) return;
  for (const Json& part : *content->as_array()) {
    const Json* thinking = part.find("thinking");
    take_content(channel, part.find("text"));
    if (thinking != nullptr) take_content(TextChannel::thinking, thinking);
  }
}

void OpenAiReader::take_tool_calls(const Json& calls) {
  if (calls.as_array() == nullptr) return;
  for (const Json& piece : *calls.as_array()) take_tool_call(piece);
}

void OpenAiReader::take_tool_call(const Json& piece) {
  std::string_view id = piece.text_or("id");
  const Json* function = piece.find("function");
  std::string_view name = function == nullptr ? "" : function->text_or("name");
  // Without an index, a piece with an id begins a call and others go on with the last one.
  int64_t last = static_cast<int64_t>(open_calls()) - 1;
  int64_t number = piece.integer_or("index", id.empty() && last >= 0 ? last : last + 1);
  ToolCall* call = call_numbered(number);
  // Some servers number all calls of a turn 0, each whole and with its own id.
  bool is_other = call != nullptr && !id.empty() && !call->id.empty() && id != call->id;
  if (call == nullptr || (is_other && !name.empty())) call = open_call(number);
  if (call == nullptr) return;
  const Json* extra = piece.find("extra_content");
  if (extra != nullptr && extra->is_object()) {
    JsonWriter own;
    own.begin_object().key("extra_content").value(*extra).end_object();
    set_call_data(number, own.take());
  }
  if (function == nullptr) return;
  if (call->id.empty()) call->id = utf8_prefix(id, 256);
  if (call->name != name && call->name.size() < 256) call->name += utf8_prefix(name, 256);
  const Json* arguments = function->find("arguments");
  if (arguments == nullptr || arguments->is_null()) return;
  // Ollama sends the object itself.
  const std::string* text = arguments->as_text();
  add_arguments(*call, text != nullptr ? *text : arguments->dump());
}

void OpenAiReader::take_usage(const Json& event) {
  const Json* tokens = event.find("usage");
  if (tokens == nullptr || !tokens->is_object()) return;
  if (!are_counts(*tokens, {"prompt_tokens", "completion_tokens"})) return;
  ModelUsage usage;
  usage.input_tokens = tokens->integer_or("prompt_tokens", 0);
  usage.output_tokens = tokens->integer_or("completion_tokens", 0);
  // DeepSeek's own name for it.
  usage.cache_read_tokens = tokens->integer_or("prompt_cache_hit_tokens", 0);
  if (const Json* details = tokens->find("prompt_tokens_details")) {
    usage.cache_read_tokens = details->integer_or("cached_tokens", usage.cache_read_tokens);
  }
  usage.measured = true;
  set_usage(usage);
}

}  // namespace hostler
