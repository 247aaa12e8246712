// Reads and checks a Chat Completions body. One pass over the messages keeps the tool calls that
// are still without a result, because the API refuses both a result without its call and the
// reverse.
#include "dev/fake-model/openai_request.h"

#include <algorithm>
#include <set>

#include "dev/fake-model/chat_checks.h"
#include "dev/fake-model/fitting_value.h"
#include "dev/fake-model/prompt_cache.h"

namespace hostler::fake_model {
namespace {

using Fault = std::optional<Refusal>;

struct Reading {
  ChatRequest chat;
  std::set<std::string> calls_open;
};

std::string at(size_t index) { return "messages[" + std::to_string(index) + "]"; }

Fault check_content(const Json* content, const std::string& where) {
  if (content == nullptr || content->is_null()) {
    return refused("Invalid value for 'content': expected a string, got null. (" + where + ")");
  }
  if (content->is_text()) return std::nullopt;
  const Json::Array* parts = content->as_array();
  if (parts == nullptr || parts->empty()) {
    return refused(where + ".content: must be a string or an array of content parts");
  }
  for (const Json& part : *parts) {
    if (!part.is_object() || part.text_or("type").empty()) {
      return refused(where + ".content: every part needs a type");
    }
    const Json* text = part.find("text");
    if (part.text_or("type") == "text" && (text == nullptr || !text->is_text())) {
      return refused(where + ".content: a part of type text needs a text");
    }
  }
  return std::nullopt;
}

Fault read_tool_calls(const Json& calls, const std::string& where, Reading& reading) {
  const Json::Array* list = calls.as_array();
  if (list == nullptr || list->empty()) {
    return refused("Invalid '" + where + ".tool_calls': empty array or no array");
  }
  for (const Json& call : *list) {
    const Json* function = call.find("function");
    const Json* arguments = function == nullptr ? nullptr : function->find("arguments");
    if (call.text_or("id").empty() || call.text_or("type") != "function" || function == nullptr) {
      return refused(where + ".tool_calls: each needs id, type \"function\" and function");
    }
    if (!is_tool_name(function->text_or("name")) || arguments == nullptr || !arguments->is_text()) {
      return refused(where + ".tool_calls: function needs a name and arguments as a string");
    }
    if (!reading.calls_open.insert(std::string(call.text_or("id"))).second) {
      return refused(where + ".tool_calls: id given twice");
    }
  }
  return std::nullopt;
}

Fault read_assistant(const Json& message, const std::string& where, Reading& reading) {
  reading.chat.turn += 1;
  reading.chat.tool_results.clear();
  const Json* calls = message.find("tool_calls");
  if (calls == nullptr || calls->is_null()) return check_content(message.find("content"), where);
  const Json* content = message.find("content");
  if (content != nullptr && !content->is_null()) {
    if (Fault fault = check_content(content, where)) return fault;
  }
  return read_tool_calls(*calls, where, reading);
}

Fault read_tool(const Json& message, const std::string& where, Reading& reading) {
  std::string id(message.text_or("tool_call_id"));
  if (id.empty()) return refused("Missing parameter 'tool_call_id': " + where + " has none.");
  if (reading.calls_open.erase(id) == 0) {
    return refused(
        "Invalid parameter: messages with role 'tool' must be a response to a "
        "preceding message with 'tool_calls' (" +
        where + ", " + id + ").");
  }
  if (Fault fault = check_content(message.find("content"), where)) return fault;
  reading.chat.tool_results.push_back(content_text(message.find("content")));
  return std::nullopt;
}

Fault read_message(const Json& message, const std::string& where, Reading& reading) {
  if (!message.is_object()) return refused(where + ": must be an object");
  std::string_view role = message.text_or("role");
  if (role != "tool" && !reading.calls_open.empty()) {
    return refused(
        "An assistant message with 'tool_calls' must be followed by tool messages "
        "responding to each 'tool_call_id'. Without response: " +
        *reading.calls_open.begin() + " (" + where + ")");
  }
  if (role == "assistant") return read_assistant(message, where, reading);
  if (role == "tool") return read_tool(message, where, reading);
  if (role != "system" && role != "developer" && role != "user") {
    return refused("Invalid value: '" + std::string(role) +
                   "'. Supported values are: 'system', "
                   "'assistant', 'user', 'tool', and 'developer'. (" +
                   where + ".role)");
  }
  std::string text = role == "user" ? content_text(message.find("content")) : std::string();
  if (role == "user" && !asks_for_repair(text)) {
    reading.chat.last_user_text = std::move(text);
    reading.chat.turn = 0;
    reading.chat.tool_results.clear();
  }
  return check_content(message.find("content"), where);
}

Fault read_messages(const Json& body, Reading& reading) {
  const Json* messages = body.find("messages");
  const Json::Array* list = messages == nullptr ? nullptr : messages->as_array();
  if (list == nullptr) return refused("Missing required parameter: 'messages'.");
  if (list->empty()) return refused("Invalid 'messages': empty array.");
  for (size_t i = 0; i < list->size(); ++i) {
    if (Fault fault = read_message((*list)[i], at(i), reading)) return fault;
  }
  if (!reading.calls_open.empty()) {
    return refused(
        "An assistant message with 'tool_calls' must be followed by tool messages "
        "responding to each 'tool_call_id'. Without response: " +
        *reading.calls_open.begin());
  }
  return std::nullopt;
}

Fault check_tools(const Json& body) {
  const Json* tools = body.find("tools");
  if (tools == nullptr || tools->is_null()) return std::nullopt;
  const Json::Array* list = tools->as_array();
  if (list == nullptr || list->empty()) return refused("Invalid 'tools': empty array or no array");
  std::set<std::string_view> names;
  for (size_t i = 0; i < list->size(); ++i) {
    std::string where = "tools[" + std::to_string(i) + "]";
    const Json* function = (*list)[i].find("function");
    if ((*list)[i].text_or("type") != "function" || function == nullptr) {
      return refused(where + ": must be {\"type\": \"function\", \"function\": {…}}");
    }
    std::string_view name = function->text_or("name");
    if (!is_tool_name(name)) {
      return refused("Invalid '" + where +
                     ".function.name': string does not match pattern. "
                     "Expected a string that matches the pattern '^[a-zA-Z0-9_-]{1,64}$'.");
    }
    if (!names.insert(name).second) return refused(where + ": a tool of this name exists already");
    const Json* parameters = function->find("parameters");
    if (parameters == nullptr) continue;
    std::string schema = "Invalid schema for function '" + std::string(name) + "'";
    if (Fault fault = check_tool_schema(parameters, schema)) return fault;
  }
  return std::nullopt;
}

// Behind check_tools().
Fault check_tool_choice(const Json& body) {
  const Json* tools = body.find("tools");
  bool has_tools = tools != nullptr && tools->is_array();
  for (const char* name : {"tool_choice", "parallel_tool_calls"}) {
    const Json* given = body.find(name);
    if (given == nullptr || given->is_null() || has_tools) continue;
    return refused(std::string("Invalid value for '") + name + "': '" + name +
                   "' is only allowed when 'tools' are specified.");
  }
  const Json* choice = body.find("tool_choice");
  if (choice == nullptr || choice->is_null()) return std::nullopt;
  if (const std::string* word = choice->as_text()) {
    if (*word == "none" || *word == "auto" || *word == "required") return std::nullopt;
    return refused("Invalid value: '" + *word + "' of 'tool_choice'.");
  }
  const Json* function = choice->find("function");
  std::string_view name = function == nullptr ? "" : function->text_or("name");
  for (const Json& tool : *tools->as_array()) {
    if (tool.find("function")->text_or("name") == name) return std::nullopt;
  }
  return refused("Tool choice '" + std::string(name) + "' not found in 'tools' parameter.");
}

Fault check_response_format(const Json& body) {
  const Json* format = body.find("response_format");
  if (format == nullptr || format->is_null()) return std::nullopt;
  std::string_view type = format->text_or("type");
  if (type == "text") return std::nullopt;
  if (type == "json_object") {
    bool says_json = body.find("messages")->dump().find("JSON") != std::string::npos;
    if (says_json) return std::nullopt;
    return refused("'messages' must contain the word 'json' in some form, to use 'json_object'.");
  }
  const Json* named = format->find("json_schema");
  if (type != "json_schema" || named == nullptr) {
    return refused("Invalid value: 'response_format.type'.");
  }
  if (!is_tool_name(named->text_or("name"))) {
    return refused("Invalid 'response_format.json_schema.name': does not match the pattern.");
  }
  return check_answer_schema(named->find("schema"), "response_format.json_schema.schema");
}

Fault read_options(const Json& body, ChatRequest& chat) {
  const Json* stream = body.find("stream");
  chat.stream = stream != nullptr && stream->as_boolean() != nullptr && *stream->as_boolean();
  const Json* options = body.find("stream_options");
  bool has_options = options != nullptr && !options->is_null();
  if (has_options && !chat.stream) {
    return refused("The 'stream_options' parameter is only allowed when 'stream' is enabled.");
  }
  const Json* include = has_options ? options->find("include_usage") : nullptr;
  chat.include_usage = !chat.stream || (include != nullptr && include->as_boolean() != nullptr &&
                                        *include->as_boolean());
  for (std::string_view name : {"max_tokens", "max_completion_tokens"}) {
    const Json* limit = body.find(name);
    if (limit == nullptr || limit->is_null()) continue;
    if (limit->as_integer() == nullptr || *limit->as_integer() < 1) {
      return refused("Invalid '" + std::string(name) + "': expected a whole number from 1.");
    }
    chat.output_tokens_max = *limit->as_integer();
  }
  return std::nullopt;
}

// Behind the checks of the members that it reads.
void read_wanted(const Json& body, ChatRequest& chat) {
  const Json* choice = body.find("tool_choice");
  const Json* named = choice == nullptr ? nullptr : choice->find("function");
  bool is_any = choice != nullptr && choice->is_text() && *choice->as_text() == "required";
  const Json* tools = body.find("tools");
  for (const Json& tool :
       tools != nullptr && tools->is_array() ? *tools->as_array() : Json::Array()) {
    const Json& function = *tool.find("function");
    bool is_wanted =
        is_any || (named != nullptr && named->text_or("name") == function.text_or("name"));
    if (!is_wanted) continue;
    const Json* parameters = function.find("parameters");
    chat.wanted_call = function.text_or("name");
    chat.wanted_arguments = parameters == nullptr ? "{}" : fitting_value(*parameters);
    break;
  }
  const Json* format = body.find("response_format");
  const Json* schema = format == nullptr ? nullptr : format->find("json_schema");
  if (schema != nullptr && schema->find("schema") != nullptr) {
    chat.wanted_json = fitting_value(*schema->find("schema"));
  }
}

std::string history_of(const Json& body) {
  JsonWriter writer;
  writer.begin_object().member("model", body.text_or("model"));
  writer.key("tools").begin_array();
  if (const Json* tools = body.find("tools"); tools != nullptr && tools->is_array()) {
    for (const Json& tool : *tools->as_array()) {
      writer.text(tool.find("function")->text_or("name"));
    }
  }
  writer.end_array();
  if (const Json* format = body.find("response_format")) {
    writer.key("response_format").value(*format);
  }
  writer.key("messages").value(*body.find("messages")).end_object();
  return writer.take();
}

}  // namespace

std::variant<ChatRequest, Refusal> read_openai_request(const Json& body) {
  if (!body.is_object()) return refused("the body must be a JSON object");
  Reading reading;
  if (Fault fault = check_settings(body, 2)) return *fault;
  if (Fault fault = read_messages(body, reading)) return *fault;
  if (Fault fault = check_tools(body)) return *fault;
  if (Fault fault = check_tool_choice(body)) return *fault;
  if (Fault fault = check_response_format(body)) return *fault;
  if (Fault fault = read_options(body, reading.chat)) return *fault;
  reading.chat.model = body.text_or("model");
  reading.chat.history = history_of(body);
  read_wanted(body, reading.chat);
  std::string messages = body.find("messages")->dump();
  reading.chat.conversation = hash_of(messages);
  const Json* tools = body.find("tools");
  std::string offered = tools == nullptr ? "" : tools->dump();
  reading.chat.input_tokens = guess_tokens(offered.size() + messages.size());
  reading.chat.caches_by_itself = true;
  if (reading.chat.input_tokens >= cached_tokens_min) {
    reading.chat.prompt = {{std::move(offered)}, {std::move(messages)}};
  }
  return std::move(reading.chat);
}

}  // namespace hostler::fake_model
