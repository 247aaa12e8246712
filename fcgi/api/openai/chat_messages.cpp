// See fcgi/api/openai/chat_messages.h.
#include "fcgi/api/openai/chat_messages.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/http/openai_error.h"
#include "lib/json.h"

namespace hostler {
namespace {

constexpr size_t messages_max = 10'000;
constexpr size_t calls_max = 1'000;        // of a message
constexpr size_t missing_calls_max = 200;  // each is looked up
constexpr TextBounds id_bounds{.min = 1, .max = 256};
constexpr TextBounds name_bounds{.min = 0, .max = 64};
constexpr TextBounds text_bounds{.max = TextBounds::body_text_bytes_max, .takes_control = true};

// Text of a content, and its parts when there are images among them.
struct Content {
  std::string text;
  std::optional<std::string> parts;
};

std::string_view text_member(const Json& object, std::string_view name) {
  return object.is_object() ? object.text_or(name) : std::string_view();
}

// {url, detail}, or the URL itself as some clients send it.
void add_image_url(Fields& message, const Json& part, const std::string& path, GivenParts& parts) {
  const Json* given = part.find("image_url");
  if (given == nullptr || (!given->is_object() && !given->is_text())) {
    message.fault(path + ".image_url", "required", "is required");
    return;
  }
  GivenImage image{.source = given->is_text() ? *given->as_text() : given->text_or("url")};
  if (given->is_object()) image.detail = given->find("detail");
  parts.add_image(message, path + ".image_url.url", image);
}

// {file_id} or {file_data, filename}; of files models get images alone.
void add_file(Fields& message, const Json& part, const std::string& path, GivenParts& parts) {
  const Json* given = part.find("file");
  std::string_view id = given == nullptr ? "" : text_member(*given, "file_id");
  std::string_view bytes = given == nullptr ? "" : text_member(*given, "file_data");
  if (id.empty() && bytes.empty()) {
    message.fault(path + ".file", "required", "must have file_id or file_data");
  } else if (!id.empty()) {
    parts.add_image(message, path + ".file.file_id", {.source = id});
  } else {
    parts.add_image(message, path + ".file.file_data",
                    {.source = bytes, .name = text_member(*given, "filename")});
  }
}

// may_show: images too, as only a user's message has them.
void add_part(Fields& message, const Json& part, size_t nth, bool may_show, Content& content,
              GivenParts& parts) {
  std::string_view type = text_member(part, "type");
  std::string path = fmt::format("content.{}", nth);
  if (type == "text" || type == "refusal") {
    std::string text = read_part_text(message, part, path, type);
    content.text += text;
    parts.add_text(text);
  } else if (may_show && type == "image_url") {
    add_image_url(message, part, path, parts);
  } else if (may_show && type == "file") {
    add_file(message, part, path, parts);
  } else {
    std::string code = type.empty() ? "wrong_type" : std::string(http::unsupported_parameter);
    message.fault(path, std::move(code),
                  type.empty() ? "must be an object with type and text"
                               : fmt::format("of the type {} is not supported here", type));
  }
}

// A text, or parts whose texts stand one behind the other.
Content read_content(Fields& message, bool may_be_absent, const UploadLimits* shown = nullptr) {
  Content content;
  if (!message.has_value("content")) {
    if (!may_be_absent) message.fault("content", "required", "is required");
    return content;
  }
  const Json* given = message.any("content");
  if (given->is_text()) {
    content.text = *given->as_text();
    return content;
  }
  const Json::Array* items = given->as_array();
  if (items == nullptr) {
    message.fault("content", "wrong_type", "must be a text or an array of parts");
    return content;
  }
  GivenParts parts(shown == nullptr ? UploadLimits() : *shown);
  for (size_t i = 0; i < items->size(); ++i) {
    add_part(message, (*items)[i], i, shown != nullptr, content, parts);
  }
  content.parts = parts.take();
  return content;
}

// Clients send back the messages that they were sent, with members that are null and, in place of
// the content of an answer that refused, the refusal.
std::string read_answer(Fields& message, bool has_calls) {
  bool has_refusal = message.has_value("refusal");
  std::string content = read_content(message, has_calls || has_refusal).text;
  if (has_refusal && content.empty()) content = message.required_text("refusal", text_bounds);
  return content;
}

// Name of the speaker, as OpenAI's API accepts it; empty if absent.
std::string read_name(Fields& message) {
  std::string name = message.nullable_text("name", name_bounds).value.value_or("");
  if (name.find_first_of(R"( <|\/>)") != std::string::npos) {
    message.fault("name", "bad_format", R"(must be without spaces and the characters < | \ / >)");
  }
  return name;
}

// Members that would change the meaning of a message and that models cannot get.
void refuse_older_forms(Fields& message) {
  for (const char* name : {"function_call", "audio"}) {
    if (!message.has_value(name)) continue;
    message.fault(name, std::string(http::unsupported_parameter), "is not supported here");
  }
}

// Members that providers send beside a message and want back unchanged. A member of another type
// means nothing to them and is left out.
struct OpaqueMember {
  std::string_view name;
  bool (*fits)(const Json&);
};
constexpr OpaqueMember opaque_members[] = {
    {"reasoning_content", [](const Json& value) { return value.is_text(); }},
    {"reasoning", [](const Json& value) { return value.is_text() || value.is_object(); }},
    {"reasoning_details", [](const Json& value) { return value.as_array() != nullptr; }},
    {"extra_content", [](const Json& value) { return value.is_object(); }},
};

// {"reasoning_content": …}: those that the message has; nothing when it has none.
void write_opaque(Fields& message, JsonWriter& json) {
  bool has_any = false;
  for (const OpaqueMember& member : opaque_members) {
    const Json* given = message.any(member.name);
    if (given == nullptr || !member.fits(*given)) continue;
    if (!has_any) json.key("opaque").begin_object();
    has_any = true;
    json.member_raw(member.name, given->dump());
  }
  if (has_any) json.end_object();
}

class HistoryReader {
 public:
  HistoryReader(std::vector<Fields>& messages, const UploadLimits& limits)
      : messages_(messages), limits_(limits) {}

  ChatMessages read() {
    json_.begin_array();
    for (Fields& message : messages_) read_message(message);
    end_calls();
    chat_.history = json_.end_array().take();
    return std::move(chat_);
  }

 private:
  void read_message(Fields& message) {
    const Json* given = message.any("role");
    if (given != nullptr && given->is_text() && *given->as_text() == "function") {
      message.fault("role", std::string(http::unsupported_parameter),
                    "function is not supported here, tool is");
      return;
    }
    std::string role =
        message.required_choice("role", {"system", "developer", "user", "assistant", "tool"});
    json_.begin_object().member("role", role == "developer" ? "system" : role);
    if (role != "tool") {
      end_calls();
      if (std::string name = read_name(message); !name.empty()) json_.member("name", name);
    }
    if (role == "assistant") {
      read_calls_of(message);
    } else {
      Content content = read_content(message, false, role == "user" ? &limits_ : nullptr);
      json_.member("content", content.text);
      if (content.parts) json_.member_raw("parts", *content.parts);
      chat_.has_files = chat_.has_files || content.parts;
    }
    if (role == "tool") read_answered_call(message);
    json_.end_object();
  }

  void read_calls_of(Fields& message) {
    refuse_older_forms(message);
    std::vector<Fields> calls;
    if (message.has_value("tool_calls")) calls = message.optional_objects("tool_calls", calls_max);
    json_.member("content", read_answer(message, !calls.empty()));
    write_opaque(message, json_);
    if (calls.empty()) return;
    caller_ = &message;
    json_.key("tool_calls").begin_array();
    for (Fields& call : calls) write_call(call);
    json_.end_array();
  }

  void write_call(Fields& call) {
    std::string id = call.required_text("id", id_bounds);
    json_.begin_object().member("id", id);
    if (!id.empty() && !open_.insert(id).second)
      call.fault("id", "taken", "is also the id of another call");
    called_.insert(std::move(id));
    Nullable<Fields> function = call.nullable_object("function");
    const Json* type = call.any("type");
    if (function.value) {
      json_.member("name", function.value->required_text("name", id_bounds));
      json_.member("arguments", function.value->required_text("arguments", text_bounds));
    } else if (type != nullptr && type->is_text() && *type->as_text() != "function") {
      call.fault("type", std::string(http::unsupported_parameter),
                 fmt::format("{} is not supported here, function is", *type->as_text()));
    } else {
      call.fault("function", "required", "is required");
    }
    const Json* extra = call.any("extra_content");
    if (extra != nullptr && extra->is_object()) json_.member_raw("extra_content", extra->dump());
    json_.end_object();
  }

  // Providers refuse a result of a call that was not made right before it. One of a call that the
  // history does not hold at all may be of a run of ours, whose turn is then put back.
  void read_answered_call(Fields& message) {
    std::string id = message.required_text("tool_call_id", id_bounds);
    json_.member("tool_call_id", id);
    bool is_open = open_.erase(id) > 0;
    if (!is_open && called_.contains(id)) {
      message.fault("tool_call_id", "taken",
                    "is a call that already has its result; each call has one result, directly "
                    "after the assistant's message that makes it");
    } else if (!is_open) {
      chat_.missing_calls.push_back(id);
      called_.insert(id);
    }
    chat_.answered_calls.push_back(std::move(id));
  }

  void end_calls() {
    if (!open_.empty()) {
      caller_->fault("tool_calls", "required",
                     fmt::format("must be followed by a message of the role tool for each call; "
                                 "{} has none",
                                 *open_.begin()));
    }
    open_.clear();
  }

  std::vector<Fields>& messages_;
  const UploadLimits& limits_;
  ChatMessages chat_;
  JsonWriter json_;
  Fields* caller_ = nullptr;  // of the open calls
  std::set<std::string> open_;
  std::unordered_set<std::string> called_;
};

}  // namespace

std::string read_part_text(Fields& fields, const Json& part, const std::string& path,
                           std::string_view member) {
  const Json* text = part.find(member);
  if (text != nullptr && text->is_text()) return *text->as_text();
  bool is_there = text != nullptr && !text->is_null();
  fields.fault(fmt::format("{}.{}", path, member), is_there ? "wrong_type" : "required",
               is_there ? "must be a text" : "is required");
  return {};
}

ChatMessages read_chat_messages(Fields& fields, const UploadLimits& limits) {
  std::vector<Fields> messages = fields.optional_objects("messages", messages_max);
  if (messages.empty() && !fields.has("messages")) {
    fields.fault("messages", "required", "is required");
  } else if (const Json::Array* given = fields.any("messages")->as_array();
             given != nullptr && given->empty()) {
    fields.fault("messages", "too_short", "must have at least 1 item");
  }
  ChatMessages chat = HistoryReader(messages, limits).read();
  if (chat.missing_calls.size() > missing_calls_max) {
    fields.fault(
        "messages", "too_long",
        fmt::format("must have at most {} results without their calls", missing_calls_max));
  }
  return chat;
}

}  // namespace hostler
