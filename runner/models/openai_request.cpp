// Written against OpenAI's API reference (Chat Completions) and the habits of compatible servers:
// each departure has a comment. See runner/models/openai.h.
#include "runner/models/openai.h"

#include "runner/models/openai_messages.h"

namespace hostler {
namespace {

constexpr std::string_view default_base_url = "https://api.openai.com/v1";

void write_response_format(JsonWriter& json, const ResponseFormat& format, bool no_strict) {
  json.key("response_format").begin_object();
  if (!format.has_schema) {
    json.member("type", "json_object").end_object();
    return;
  }
  json.member("type", "json_schema").key("json_schema").begin_object();
  json.member("name", format.name);
  if (!format.description.empty()) json.member("description", format.description);
  json.member_raw("schema", format.schema);
  if (format.strict && !no_strict) json.member("strict", *format.strict);
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

// OpenAI's newer models refuse the old name, compatible servers often know no other. Empty: the
// model takes no limit.
std::string_view limit_member(const ModelTraits& traits, std::string_view base_url) {
  switch (traits.token_limit) {
    case ModelTraits::TokenLimit::max_tokens:
      return "max_tokens";
    case ModelTraits::TokenLimit::max_completion_tokens:
      return "max_completion_tokens";
    case ModelTraits::TokenLimit::none:
      return {};
    case ModelTraits::TokenLimit::by_host:
      break;
  }
  bool is_openai = base_url.starts_with("https://api.openai.com/");
  return is_openai ? "max_completion_tokens" : "max_tokens";
}

void write_settings(JsonWriter& json, const ModelRequest& request, std::string_view base_url) {
  const ModelTraits& traits = request.traits;
  json.member("model", request.endpoint.model).member("stream", true);
  if (!traits.no_stream_options) {
    json.key("stream_options").begin_object().member("include_usage", true).end_object();
  }
  if (request.temperature && !traits.no_temperature) {
    json.member("temperature", *request.temperature);
  }
  write_sampling(json, request.sampling);
  std::string_view limit = limit_member(traits, base_url);
  if (request.output_tokens_max && !limit.empty()) json.member(limit, *request.output_tokens_max);
  if (request.response_format && !traits.no_response_format) {
    write_response_format(json, *request.response_format, traits.no_strict);
  }
}

void write_tools(JsonWriter& json, const std::vector<ToolDefinition>& tools, bool no_strict) {
  json.key("tools").begin_array();
  for (const ToolDefinition& tool : tools) {
    json.begin_object().member("type", "function");
    json.key("function").begin_object();
    json.member("name", tool.name).member("description", tool.description);
    json.member_raw("parameters", tool.parameters);
    if (tool.strict && !no_strict) json.member("strict", *tool.strict);
    json.end_object().end_object();
  }
  json.end_array();
}

// Without tools the API refuses both members.
void write_tool_choice(JsonWriter& json, const Sampling& sampling, const ModelTraits& traits) {
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
  if (sampling.parallel_tool_calls && !traits.no_parallel_tool_calls) {
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
    write_tool_choice(json, request.sampling, request.traits);
    write_tools(json, request.tools, request.traits.no_strict);
  }
  write_openai_messages(json, request);
  json.end_object();
  return json.take();
}

std::string base_url_of(const ModelRequest& request) {
  std::string base_url = request.endpoint.base_url;
  if (base_url.empty()) base_url = default_base_url;
  while (base_url.ends_with('/')) base_url.pop_back();
  return base_url;
}

}  // namespace

http::HttpRequest openai_request(const ModelRequest& request) {
  std::string base_url = base_url_of(request);
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

std::string_view openai_limit_member(const ModelRequest& request) {
  return limit_member(request.traits, base_url_of(request));
}

}  // namespace hostler
