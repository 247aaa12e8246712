// Reads and checks a Messages body. Tool uses must be answered by the very next message, and a
// result must belong to the message before: both are kept in one set while the messages pass by.
#include "dev/fake-model/anthropic_request.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "dev/fake-model/chat_checks.h"
#include "dev/fake-model/fitting_value.h"
#include "dev/fake-model/prompt_cache.h"

namespace hostler::fake_model {
namespace {

using Fault = std::optional<Refusal>;

struct Reading {
  ChatRequest chat;
  std::set<std::string> uses_open;
  bool uses_tools = false;
  bool thinks = false;             // extended thinking is switched on
  std::string unthinking_message;  // of this user message's turns: calls tools without thinking
};

std::string at(size_t index) { return "messages." + std::to_string(index); }

Fault check_text(const Json& block, const std::string& where) {
  const Json* text = block.find("text");
  if (text == nullptr || !text->is_text()) return refused(where + ".text: Field required");
  if (text->as_text()->find_first_not_of(" \t\r\n\f\v") == std::string::npos) {
    return refused("messages: text content blocks must contain non-whitespace text (" + where +
                   ")");
  }
  return std::nullopt;
}

Fault read_tool_use(const Json& block, const std::string& where, Reading& reading) {
  const Json* input = block.find("input");
  if (!is_tool_name(block.text_or("name"))) return refused(where + ".name: bad tool name");
  if (input == nullptr || !input->is_object()) {
    return refused(where + ".input: Input should be a valid dictionary");
  }
  std::string id(block.text_or("id"));
  reading.uses_tools = true;
  if (!is_tool_name(id)) return refused(where + ".id: String should match '^[a-zA-Z0-9_-]+$'");
  if (!reading.uses_open.insert(std::move(id)).second) {
    return refused(where + ".id: `tool_use` ids must be unique");
  }
  return std::nullopt;
}

Fault read_assistant_blocks(const Json::Array& blocks, const std::string& where, Reading& reading) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Json& block = blocks[i];
    std::string path = where + ".content." + std::to_string(i);
    std::string_view type = block.text_or("type");
    if (type == "text") {
      if (Fault fault = check_text(block, path)) return fault;
    } else if (type == "tool_use") {
      bool thought = blocks[0].text_or("type").ends_with("thinking");
      if (!thought && reading.unthinking_message.empty()) reading.unthinking_message = where;
      if (Fault fault = read_tool_use(block, path, reading)) return fault;
    } else if (type == "thinking") {
      if (block.text_or("signature").empty()) {
        return refused(path + ".signature: Field required");
      }
    } else if (type != "redacted_thinking") {
      return refused(path + ".type: unknown or not allowed here: '" + std::string(type) + "'");
    }
  }
  return std::nullopt;
}

Fault read_tool_result(const Json& block, const std::string& where, Reading& reading) {
  std::string id(block.text_or("tool_use_id"));
  if (id.empty()) return refused(where + ".tool_use_id: Field required");
  if (reading.uses_open.erase(id) == 0) {
    return refused(where + ": unexpected `tool_use_id` found in `tool_result` blocks: " + id +
                   ". Each `tool_result` block must have a corresponding `tool_use` block in the "
                   "previous message.");
  }
  const Json* content = block.find("content");
  if (content != nullptr && !content->is_text() && !content->is_array()) {
    return refused(where + ".content: must be a string or an array of blocks");
  }
  reading.chat.tool_results.push_back(content_text(content));
  return std::nullopt;
}

Fault read_user_blocks(const Json::Array& blocks, const std::string& where, Reading& reading) {
  bool has_other = false;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Json& block = blocks[i];
    std::string path = where + ".content." + std::to_string(i);
    std::string_view type = block.text_or("type");
    if (type == "tool_result") {
      if (has_other) return refused(path + ": `tool_result` blocks must come first");
      if (Fault fault = read_tool_result(block, path, reading)) return fault;
      continue;
    }
    has_other = true;
    if (type == "text") {
      if (Fault fault = check_text(block, path)) return fault;
    } else if (type != "image" && type != "document") {
      return refused(path + ".type: unknown or not allowed here: '" + std::string(type) + "'");
    }
  }
  return std::nullopt;
}

// Counts turns again after a message of the user; a message of tool results alone does not count.
Fault read_user(const Json& content, const std::string& where, Reading& reading) {
  reading.chat.tool_results.clear();
  if (const Json::Array* blocks = content.as_array()) {
    if (Fault fault = read_user_blocks(*blocks, where, reading)) return fault;
  }
  if (!reading.uses_open.empty()) {
    return refused(where +
                   ": `tool_use` ids were found without `tool_result` blocks immediately "
                   "after: " +
                   *reading.uses_open.begin());
  }
  std::string text = content_text(&content);
  if (text.empty() || asks_for_repair(text)) return std::nullopt;
  reading.chat.last_user_text = std::move(text);
  reading.chat.turn = 0;
  reading.unthinking_message.clear();
  return std::nullopt;
}

Fault read_messages(const Json& body, Reading& reading) {
  const Json* messages = body.find("messages");
  const Json::Array* list = messages == nullptr ? nullptr : messages->as_array();
  if (list == nullptr) return refused("messages: Field required");
  if (list->empty()) return refused("messages: at least one message is required");
  for (size_t i = 0; i < list->size(); ++i) {
    const Json& message = (*list)[i];
    std::string_view role = message.text_or("role");
    if (role == "system") {
      return refused(at(i) +
                     ": use the top-level 'system' parameter for the initial system prompt");
    }
    if (role != (i % 2 == 0 ? "user" : "assistant")) {
      return refused(
          "messages: roles must alternate between \"user\" and \"assistant\", and the "
          "first must be \"user\" (" +
          at(i) + ".role)");
    }
    const Json* content = message.find("content");
    bool is_empty = content == nullptr || (content->is_text() && content->as_text()->empty()) ||
                    (content->is_array() && content->as_array()->empty());
    if (is_empty || (!content->is_text() && !content->is_array())) {
      return refused(at(i) + ".content: all messages must have non-empty content");
    }
    if (role == "user") {
      if (Fault fault = read_user(*content, at(i), reading)) return fault;
      continue;
    }
    reading.chat.turn += 1;
    if (content->is_text()) continue;
    if (Fault fault = read_assistant_blocks(*content->as_array(), at(i), reading)) return fault;
  }
  if (!reading.uses_open.empty()) return refused("messages: the last `tool_use` has no result");
  if (list->back().text_or("role") != "user") {
    return refused(
        "This model does not support assistant message prefill. The conversation must "
        "end with a user message.");
  }
  return std::nullopt;
}

Fault check_tools(const Json& body) {
  const Json* tools = body.find("tools");
  if (tools == nullptr) return std::nullopt;
  if (!tools->is_array()) return refused("tools: Input should be a valid list");
  std::set<std::string_view> names;
  for (size_t i = 0; i < tools->as_array()->size(); ++i) {
    const Json& tool = (*tools->as_array())[i];
    std::string where = "tools." + std::to_string(i);
    std::string_view name = tool.text_or("name");
    if (!is_tool_name(name)) {
      return refused(where + ".name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'");
    }
    if (!names.insert(name).second) return refused("tools: Tool names must be unique.");
    Fault fault = check_tool_schema(tool.find("input_schema"), where + ".input_schema");
    if (fault) return fault;
  }
  return std::nullopt;
}

Fault check_tool_choice(const Json& body) {
  const Json* choice = body.find("tool_choice");
  if (choice == nullptr) return std::nullopt;
  const Json* tools = body.find("tools");
  if (tools == nullptr) return refused("tool_choice may only be specified while providing tools.");
  std::string_view type = choice->text_or("type");
  if (type == "auto" || type == "any" || type == "none") return std::nullopt;
  if (type != "tool") return refused("tool_choice: Input tag does not match the expected tags");
  for (const Json& tool : *tools->as_array()) {
    if (tool.text_or("name") == choice->text_or("name")) return std::nullopt;
  }
  return refused("tool_choice.name: no tool of this name");
}

Fault check_output_config(const Json& body) {
  const Json* output = body.find("output_config");
  const Json* format = output == nullptr ? nullptr : output->find("format");
  if (format == nullptr || format->is_null()) return std::nullopt;
  if (format->text_or("type") != "json_schema") {
    return refused("output_config.format.type: Input should be 'json_schema'");
  }
  return check_answer_schema(format->find("schema"), "output_config.format.schema");
}

Fault read_options(const Json& body, Reading& reading) {
  const Json* stream = body.find("stream");
  reading.chat.stream =
      stream != nullptr && stream->as_boolean() != nullptr && *stream->as_boolean();
  const Json* limit = body.find("max_tokens");
  if (limit == nullptr) return refused("max_tokens: Field required");
  if (limit->as_integer() == nullptr || *limit->as_integer() < 1) {
    return refused("max_tokens: Input should be greater than or equal to 1");
  }
  reading.chat.output_tokens_max = *limit->as_integer();
  const Json* system = body.find("system");
  if (system != nullptr && !system->is_text() && !system->is_array()) {
    return refused("system: must be a string or an array of text blocks");
  }
  const Json* thinking = body.find("thinking");
  reading.thinks = thinking != nullptr && thinking->text_or("type") == "enabled";
  if (reading.thinks) {
    int64_t budget = thinking->integer_or("budget_tokens", 0);
    if (budget < 1024) return refused("thinking.enabled.budget_tokens: must be at least 1024");
    if (budget >= *limit->as_integer()) {
      return refused("`max_tokens` must be greater than `thinking.budget_tokens`.");
    }
  }
  return std::nullopt;
}

std::string history_of(const Json& body) {
  JsonWriter writer;
  writer.begin_object().member("model", body.text_or("model"));
  if (const Json* system = body.find("system")) writer.key("system").value(*system);
  writer.key("tools").begin_array();
  if (const Json* tools = body.find("tools")) {
    for (const Json& tool : *tools->as_array()) writer.text(tool.text_or("name"));
  }
  writer.end_array();
  if (const Json* output = body.find("output_config")) writer.key("output_config").value(*output);
  writer.key("messages").value(*body.find("messages")).end_object();
  return writer.take();
}

// A tool, a system text or a part of a message, without its mark.
Fault read_block(const Json& block, std::string_view role, std::vector<PromptBlock>& prompt) {
  PromptBlock& read = prompt.emplace_back();
  JsonWriter writer;
  writer.begin_object().member("role", role);
  for (const auto& [name, value] : *block.as_object()) {
    if (name != "cache_control") writer.key(name).value(value);
  }
  read.bytes = writer.end_object().take();
  const Json* mark = block.find("cache_control");
  if (mark == nullptr || mark->is_null()) return std::nullopt;
  std::string_view lifetime = mark->text_or("ttl", "5m");
  if (mark->text_or("type") != "ephemeral" || (lifetime != "5m" && lifetime != "1h")) {
    return refused("cache_control: type must be 'ephemeral', and ttl '5m' or '1h'");
  }
  if (block.text_or("type") == "text" && block.text_or("text").empty()) {
    return refused("cache_control cannot be set for empty text blocks");
  }
  read.is_breakpoint = true;
  return std::nullopt;
}

// A list of blocks, or one text.
Fault read_blocks(const Json* blocks, std::string_view role, std::vector<PromptBlock>& prompt) {
  if (blocks == nullptr) return std::nullopt;
  if (blocks->is_text()) {
    prompt.push_back({std::string(role) + *blocks->as_text()});
    return std::nullopt;
  }
  if (!blocks->is_array()) return std::nullopt;
  for (const Json& block : *blocks->as_array()) {
    if (!block.is_object()) return refused(std::string(role) + ": must be a list of objects");
    if (Fault fault = read_block(block, role, prompt)) return fault;
  }
  return std::nullopt;
}

// In the order in which the model reads it, whatever the order of the body's members.
Fault read_prompt(const Json& body, std::vector<PromptBlock>& prompt) {
  if (const Json* output = body.find("output_config")) prompt.push_back({output->dump()});
  if (Fault fault = read_blocks(body.find("tools"), "tools", prompt)) return fault;
  if (Fault fault = read_blocks(body.find("system"), "system", prompt)) return fault;
  for (const Json& message : *body.find("messages")->as_array()) {
    std::string_view role = message.text_or("role");
    if (Fault fault = read_blocks(message.find("content"), role, prompt)) return fault;
  }
  auto marks = std::count_if(prompt.begin(), prompt.end(),
                             [](const PromptBlock& block) { return block.is_breakpoint; });
  if (marks <= 4) return std::nullopt;
  return refused("A maximum of 4 blocks with cache_control may be provided. Found " +
                 std::to_string(marks) + ".");
}

// Behind the checks of the members that it reads.
void read_wanted(const Json& body, ChatRequest& chat) {
  const Json* choice = body.find("tool_choice");
  std::string_view type = choice == nullptr ? "" : choice->text_or("type");
  const Json* tools = body.find("tools");
  for (const Json& tool :
       tools != nullptr && tools->is_array() ? *tools->as_array() : Json::Array()) {
    bool is_named = type == "tool" && choice->text_or("name") == tool.text_or("name");
    if (type != "any" && !is_named) continue;
    chat.wanted_call = tool.text_or("name");
    chat.wanted_arguments = fitting_value(*tool.find("input_schema"));
    break;
  }
  const Json* output = body.find("output_config");
  const Json* format = output == nullptr ? nullptr : output->find("format");
  const Json* schema = format == nullptr ? nullptr : format->find("schema");
  if (schema != nullptr) chat.wanted_json = fitting_value(*schema);
}

}  // namespace

std::variant<ChatRequest, Refusal> read_anthropic_request(const Json& body) {
  if (!body.is_object()) return refused("the body must be a JSON object");
  Reading reading;
  if (Fault fault = check_settings(body, 1)) return *fault;
  if (Fault fault = read_options(body, reading)) return *fault;
  if (Fault fault = read_messages(body, reading)) return *fault;
  if (Fault fault = check_tools(body)) return *fault;
  if (Fault fault = check_tool_choice(body)) return *fault;
  if (Fault fault = check_output_config(body)) return *fault;
  if (reading.uses_tools && body.find("tools") == nullptr) {
    return refused("Requests which have `tool_use` or `tool_result` blocks must define tools.");
  }
  if (reading.thinks && !reading.unthinking_message.empty()) {
    return refused(reading.unthinking_message +
                   ".content.0.type: Expected `thinking` or `redacted_thinking`. When `thinking` "
                   "is enabled, an assistant message with `tool_use` must start with it.");
  }
  reading.chat.model = body.text_or("model");
  reading.chat.history = history_of(body);
  read_wanted(body, reading.chat);
  reading.chat.conversation = hash_of(body.find("messages")->dump());
  std::vector<PromptBlock> prompt;
  if (Fault fault = read_prompt(body, prompt)) return *fault;
  size_t bytes = 0;
  for (const PromptBlock& block : prompt) bytes += block.bytes.size();
  reading.chat.input_tokens = guess_tokens(bytes);
  if (reading.chat.input_tokens >= cached_tokens_min) reading.chat.prompt = std::move(prompt);
  return std::move(reading.chat);
}

}  // namespace hostler::fake_model
