// Input items read; see fcgi/api/openai/response_items.h.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "fcgi/api/openai/chat_messages.h"
#include "fcgi/api/openai/response_items.h"
#include "lib/http/openai_error.h"
#include "lib/json.h"
#include "lib/search_words.h"

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

struct InputOutput {
  std::string call_id;
  std::string content;
};

// An item of the role tool: only an output, of a call that is not in the input.
struct InputMessage {
  std::string role;
  std::string content;
  std::vector<InputCall> calls;
  std::vector<InputOutput> outputs;       // of its calls: models want them right behind it
  std::optional<std::string> parts = {};  // JSON, of one with images
};

void refuse_type(Fields& fields, std::string_view member, std::string_view type) {
  bool is_known = !type.empty();
  fields.fault(member, is_known ? std::string(http::unsupported_parameter) : "wrong_type",
               is_known ? fmt::format("of the type {} is not supported here", type)
                        : "must be an object with type and text");
}

// Adds the file that an input_image or input_file names. Of files models get images alone.
void add_file(Fields& item, const Json& part, const std::string& path, bool is_image,
              GivenParts& parts) {
  std::string_view id = part.text_or("file_id");
  const char* member = is_image ? "image_url" : "file_data";
  std::string_view bytes = part.text_or(member);
  if (!is_image && bytes.empty() && id.empty() && part.find("file_url") != nullptr) {
    member = "file_url";
    bytes = part.text_or(member);
  }
  if (!id.empty()) {
    parts.add_image(item, path + ".file_id", {.source = id, .detail = part.find("detail")});
  } else if (!bytes.empty()) {
    parts.add_image(
        item, fmt::format("{}.{}", path, member),
        {.source = bytes, .name = part.text_or("filename"), .detail = part.find("detail")});
  } else {
    item.fault(path, "required",
               is_image ? "must have image_url or file_id" : "must have file_data or file_id");
  }
}

// shown: takes what is no text; null: nothing else is taken.
std::string read_part(Fields& item, const Json& part, const std::string& path, GivenParts* shown) {
  std::string_view type = part.is_object() ? part.text_or("type") : "";
  if (type == "refusal") return read_part_text(item, part, path, "refusal");
  if (type == "input_text" || type == "output_text" || type == "text") {
    return read_part_text(item, part, path, "text");
  }
  if (shown != nullptr && (type == "input_image" || type == "input_file")) {
    add_file(item, part, path, type == "input_image", *shown);
  } else {
    refuse_type(item, path, type);
  }
  return {};
}

// A text, or parts whose texts stand one behind the other.
std::string read_text(Fields& item, const char* name, GivenParts* shown = nullptr) {
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
    std::string part = read_part(item, (*parts)[i], fmt::format("{}.{}", name, i), shown);
    if (shown != nullptr && !part.empty()) shown->add_text(part);
    text += part;
  }
  return text;
}

class InputReader {
 public:
  explicit InputReader(const UploadLimits& limits) : limits_(limits) {}
  void read(Fields& item) {
    std::string type = item.nullable_text("type", id_bounds).value.value_or("message");
    if (type == "message") {
      read_message(item);
    } else if (type == "function_call") {
      read_call(item);
    } else if (type == "function_call_output") {
      read_output(item);
    } else if (type == "item_reference") {
      item.fault("type", std::string(http::unsupported_parameter),
                 "item_reference is not supported here; send the item itself, as clients do with "
                 "store: false, or previous_response_id");
    } else if (type != "reasoning") {  // a model's thoughts are its own again only there
      refuse_type(item, "type", type);
    }
  }

  ResponseInput finish(Fields& fields) const {
    ResponseInput input;
    JsonWriter json;
    json.begin_array();
    for (const InputMessage& message : messages_) write(message, json, input.words);
    input.messages = json.end_array().take();
    for (const InputMessage& message : messages_) {
      input.has_files = input.has_files || message.parts;
      for (const InputOutput& output : message.outputs) {
        input.answered_calls.push_back(output.call_id);
        if (message.role == "tool") input.missing_calls.push_back(output.call_id);
      }
    }
    if (!open_.empty()) {
      fields.fault("input", "required",
                   fmt::format("the output of the call {} is missing", open_.begin()->first));
    }
    if (input.missing_calls.size() > missing_calls_max) {
      fields.fault(
          "input", "too_long",
          fmt::format("must have at most {} outputs without their calls", missing_calls_max));
    }
    return input;
  }

  void add_text(std::string text) { messages_.push_back({"user", std::move(text), {}, {}}); }

 private:
  void read_message(Fields& item) {
    InputMessage message;
    message.role = item.required_choice("role", {"user", "assistant", "system", "developer"});
    GivenParts shown(limits_);
    message.content = read_text(item, "content", message.role == "user" ? &shown : nullptr);
    message.parts = shown.take();
    // Providers refuse an answer without words.
    bool is_nothing = message.role == "assistant" && message.content.empty();
    if (!is_nothing) messages_.push_back(std::move(message));
  }

  // The calls of a turn belong to one message, with the turn's text.
  void read_call(Fields& item) {
    InputCall call;
    call.id = item.required_text("call_id", id_bounds);
    call.name = item.required_text("name", id_bounds);
    call.arguments = item.required_text("arguments", text_bounds);
    bool begins_turn = messages_.empty() || messages_.back().role != "assistant" ||
                       !messages_.back().outputs.empty();
    if (begins_turn) messages_.push_back({"assistant", {}, {}, {}});
    if (!call.id.empty() && !open_.emplace(call.id, messages_.size() - 1).second) {
      item.fault("call_id", "taken", "is for a call that has no output yet");
    }
    called_.insert(call.id);
    messages_.back().calls.push_back(std::move(call));
  }

  void read_output(Fields& item) {
    InputOutput output;
    output.call_id = item.required_text("call_id", id_bounds);
    output.content = read_text(item, "output");
    auto call = open_.find(output.call_id);
    if (call != open_.end()) {
      messages_[call->second].outputs.push_back(std::move(output));
      open_.erase(call);
    } else if (called_.insert(output.call_id).second) {
      messages_.push_back({"tool", {}, {}, {std::move(output)}});
    } else {
      item.fault("call_id", "taken", "is for a call that already has its output");
    }
  }

  static void write(const InputMessage& message, JsonWriter& json,
                    std::vector<std::string>& words) {
    bool is_read = message.role == "user" || message.role == "assistant";
    if (message.role != "tool") {
      write_message(message, json);
      words.push_back(is_read ? search_words(message.content) : "");
    }
    words.resize(words.size() + message.outputs.size());
    for (const InputOutput& output : message.outputs) {
      json.begin_object().member("role", "tool").member("content", output.content);
      json.member("tool_call_id", output.call_id).end_object();
    }
  }

  static void write_message(const InputMessage& message, JsonWriter& json) {
    bool is_developer = message.role == "developer";
    json.begin_object().member("role", is_developer ? "system" : message.role.c_str());
    if (is_developer) json.member("is_developer", true);
    json.member("content", message.content);
    if (message.parts) json.member_raw("parts", *message.parts);
    if (!message.calls.empty()) json.key("tool_calls").begin_array();
    for (const InputCall& call : message.calls) {
      json.begin_object().member("id", call.id).member("name", call.name);
      json.member("arguments", call.arguments).end_object();
    }
    if (!message.calls.empty()) json.end_array();
    json.end_object();
  }

  UploadLimits limits_;
  std::vector<InputMessage> messages_;
  std::map<std::string, size_t> open_;      // calls without an output, and whose they are
  std::unordered_set<std::string> called_;  // and answered
};

}  // namespace

ResponseInput read_response_input(Fields& fields, const UploadLimits& limits) {
  InputReader reader(limits);
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
