// Input items read; see fcgi/api/openai/response_items.h.
#include <string_view>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "fcgi/api/openai/chat_messages.h"
#include "fcgi/api/openai/response_items.h"
#include "lib/http/openai_error.h"
#include "lib/json.h"

namespace hostler {
namespace {

constexpr size_t items_max = 10'000;
constexpr size_t missing_calls_max = 200;  // each is looked up
constexpr TextBounds id_bounds{.min = 1, .max = 256};
constexpr TextBounds text_bounds{.max = TextBounds::body_text_bytes_max, .takes_control = true};

struct InputCall {
  std::string id;
  std::string name;
  std::string arguments;
};

struct InputMessage {
  std::string role;
  std::string content;
  std::string tool_call_id;
  std::vector<InputCall> calls;
};

void refuse_type(Fields& fields, std::string_view member, std::string_view type) {
  bool is_known = !type.empty();
  fields.fault(member, is_known ? std::string(http::unsupported_parameter) : "wrong_type",
               is_known ? fmt::format("of the type {} is not supported here", type)
                        : "must be an object with type and text");
}

// A text, or parts whose texts stand one behind the other.
std::string read_text(Fields& item, const char* name) {
  const Json* content = item.any(name);
  if (content == nullptr || content->is_null()) {
    item.fault(name, "required", "is required");
    return {};
  }
  if (content->is_text()) return *content->as_text();
  const Json::Array* parts = content->as_array();
  if (parts == nullptr) {
    item.fault(name, "wrong_type", "must be a text or an array of parts");
    return {};
  }
  std::string text;
  for (size_t i = 0; i < parts->size(); ++i) {
    const Json& part = (*parts)[i];
    std::string_view type = part.is_object() ? part.text_or("type") : "";
    if (type == "refusal") {
      text += part.text_or("refusal");
    } else if (type == "input_text" || type == "output_text" || type == "text") {
      text += part.text_or("text");
    } else {
      refuse_type(item, fmt::format("{}.{}", name, i), type);
    }
  }
  return text;
}

class InputReader {
 public:
  void read(Fields& item) {
    std::string type = item.nullable_text("type", id_bounds).value.value_or("message");
    if (type == "message") {
      read_message(item);
    } else if (type == "function_call") {
      read_call(item);
    } else if (type == "function_call_output") {
      read_output(item);
    } else if (type != "reasoning") {  // a model's thoughts are its own again only there
      refuse_type(item, "type", type);
    }
  }

  ResponseInput finish(Fields& fields) const {
    ResponseInput input;
    JsonWriter json;
    json.begin_array();
    for (const InputMessage& message : messages_) write(message, json);
    input.messages = json.end_array().take();
    for (const InputMessage& message : messages_) {
      const std::string& id = message.tool_call_id;
      if (id.empty()) continue;
      input.answered_calls.push_back(id);
      if (!called_.contains(id)) input.missing_calls.push_back(id);
    }
    if (input.missing_calls.size() > missing_calls_max) {
      fields.fault(
          "input", "too_long",
          fmt::format("must have at most {} outputs without their calls", missing_calls_max));
    }
    std::vector<std::string>& answered = input.answered_calls;
    size_t looked_up = first_looked_up(answered.size());
    answered.erase(answered.begin(), answered.begin() + static_cast<ptrdiff_t>(looked_up));
    return input;
  }

  void add_text(std::string text) { messages_.push_back({"user", std::move(text), {}, {}}); }

 private:
  void read_message(Fields& item) {
    InputMessage message;
    message.role = item.required_choice("role", {"user", "assistant", "system", "developer"});
    message.content = read_text(item, "content");
    // Providers refuse an answer without words.
    bool is_nothing = message.role == "assistant" && message.content.empty();
    if (!is_nothing) messages_.push_back(std::move(message));
  }

  // The calls of a turn belong to one message, with the turn's text.
  void read_call(Fields& item) {
    InputCall call;
    call.id = item.required_text("call_id", id_bounds);
    called_.insert(call.id);
    call.name = item.required_text("name", id_bounds);
    call.arguments = item.required_text("arguments", text_bounds);
    if (messages_.empty() || messages_.back().role != "assistant") {
      messages_.push_back({"assistant", {}, {}, {}});
    }
    messages_.back().calls.push_back(std::move(call));
  }

  void read_output(Fields& item) {
    InputMessage message;
    message.role = "tool";
    message.tool_call_id = item.required_text("call_id", id_bounds);
    message.content = read_text(item, "output");
    messages_.push_back(std::move(message));
  }

  static void write(const InputMessage& message, JsonWriter& json) {
    bool is_developer = message.role == "developer";
    json.begin_object().member("role", is_developer ? "system" : message.role.c_str());
    if (is_developer) json.member("is_developer", true);
    json.member("content", message.content);
    if (!message.tool_call_id.empty()) json.member("tool_call_id", message.tool_call_id);
    if (!message.calls.empty()) json.key("tool_calls").begin_array();
    for (const InputCall& call : message.calls) {
      json.begin_object().member("id", call.id).member("name", call.name);
      json.member("arguments", call.arguments).end_object();
    }
    if (!message.calls.empty()) json.end_array();
    json.end_object();
  }

  std::vector<InputMessage> messages_;
  std::unordered_set<std::string> called_;
};

}  // namespace

ResponseInput read_response_input(Fields& fields) {
  InputReader reader;
  const Json* given = fields.any("input");
  if (given == nullptr || given->is_null()) {
    fields.fault("input", "required", "is required");
  } else if (given->is_text()) {
    reader.add_text(*given->as_text());
  } else if (!given->is_array()) {
    fields.fault("input", "wrong_type", "must be a text or an array of items");
  } else if (given->as_array()->empty()) {
    fields.fault("input", "too_short", "must have at least 1 item");
  } else {
    for (Fields& item : fields.optional_objects("input", items_max)) reader.read(item);
  }
  return reader.finish(fields);
}

}  // namespace hostler
