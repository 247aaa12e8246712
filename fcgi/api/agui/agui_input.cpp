// See fcgi/api/agui/agui_input.h.
#include "fcgi/api/agui/agui_input.h"

#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "fcgi/api/runs/function_tools.h"
#include "fcgi/api/runs/marks.h"
#include "lib/blank_text.h"
#include "lib/json_bounds.h"

namespace hostler {
namespace {

constexpr size_t messages_max = 10'000;
constexpr size_t interrupts_max = 64;
constexpr size_t shown_parts_max = 20;  // of a message with images
constexpr size_t context_max = 1'000;
constexpr size_t message_bytes_max = 64 << 10;  // as POST /v1/threads/{thread_id}/messages
constexpr size_t answer_bytes_max = 32 << 10;   // as POST /v1/runs/{run_id}/input
constexpr TextBounds name_bounds{.min = 1, .max = 128, .takes_control = true};

// The source of an image: {type: data, value: base64, mimeType}, {type: url, value}, or the members
// data, url or id of the older form.
std::string image_source(const Json& part) {
  const Json* source = part.find("source");
  bool is_new = source != nullptr && source->is_object();
  std::string_view type = (is_new ? *source : part).text_or("mimeType");
  std::string_view data = part.text_or("data");
  if (is_new && source->text_or("type") == "data") data = source->text_or("value");
  if (!data.empty()) return fmt::format("data:{};base64,{}", type, data);
  if (is_new) return std::string(source->text_or("value"));
  std::string_view id = part.text_or("id");
  return std::string(id.empty() ? part.text_or("url") : id);
}

bool is_image_type(std::string_view type) {
  return type == "image" || type == "binary" || type == "document";
}

// A text, or parts whose texts stand one behind the other. shown: takes images; null: none are taken.
std::string read_content(Fields& message, GivenParts* shown = nullptr) {
  const Json* content = message.any("content");
  if (content != nullptr && content->is_text()) return *content->as_text();
  if (content == nullptr || content->as_array() == nullptr) {
    message.fault("content", "wrong_type", "must be a text or an array of parts");
    return {};
  }
  std::string text;
  size_t nth = 0;
  for (const Json& part : *content->as_array()) {
    std::string field = fmt::format("content.{}", nth++);
    std::string_view type = part.is_object() ? part.text_or("type") : "";
    const Json* words = type == "text" ? part.find("text") : nullptr;
    if (words != nullptr && words->is_text()) {
      text += *words->as_text();
      if (shown != nullptr) shown->add_text(*words->as_text());
    } else if (type == "text") {
      message.fault(field + ".text", "wrong_type", "must be a text");
    } else if (shown != nullptr && is_image_type(type)) {
      shown->add_image(message, field,
                       {.source = image_source(part), .name = part.text_or("filename")});
    } else {
      message.fault(field, "unsupported",
                    "must have the type text or image; other types are not supported");
    }
  }
  return text;
}

std::string read_user_message(Fields& message, GivenParts& parts) {
  std::string text = read_content(message, &parts);
  if (is_blank_text(text) && !parts.has_images()) {
    message.fault("content", "too_short", "must contain text or an image");
  }
  if (parts.has_images() && parts.count() > shown_parts_max) {
    message.fault("content", "too_long", "must have at most 20 texts and images");
  }
  if (text.size() > message_bytes_max) {
    message.fault("content", "too_long",
                  fmt::format("must have at most {} bytes", message_bytes_max));
  }
  return text;
}

// A tool's text is JSON where it reads as such: what a client made of a value is that value again.
std::string output_of(const std::string& text) {
  std::variant<Json, JsonFault> parsed = parse_bounded_json(text, json_values_of_body_max);
  const Json* value = std::get_if<Json>(&parsed);
  return value != nullptr ? value->dump() : json_quote(text);
}

void write_result(Fields& message, JsonWriter& json) {
  std::string id = message.required_text("toolCallId", {.min = 1, .max = 256});
  std::optional<std::string> error = message.nullable_text("error", {.takes_control = true}).value;
  std::string text = read_content(message);
  json.begin_object().member("tool_call_id", id);
  if (error) {
    if (!text.empty()) *error += error->empty() ? text : "\n" + text;
    json.key("error").begin_object().member("code", "tool.failed").member("message", *error);
    json.end_object();
  } else {
    std::string output = output_of(text);
    if (output.size() > tool_output_bytes_max) {
      message.fault(
          "content", "too_long",
          fmt::format("must have at most {} bytes as compact JSON", tool_output_bytes_max));
    }
    json.member_raw("output", output);
  }
  json.end_object();
}

bool has_role(Fields& message, std::string_view role) {
  const Json* given = message.any("role");
  return given != nullptr && given->is_text() && *given->as_text() == role;
}

// The results behind the last message of another kind; of one call the last counts.
std::string read_results(std::vector<Fields>& messages) {
  std::set<std::string> seen;
  std::vector<Fields*> counting;
  for (size_t i = messages.size(); i-- > 0 && has_role(messages[i], "tool");) {
    const Json* id = messages[i].any("toolCallId");
    bool is_first = id == nullptr || !id->is_text() || seen.insert(*id->as_text()).second;
    if (is_first) counting.push_back(&messages[i]);
  }
  JsonWriter json;
  json.begin_array();
  for (size_t i = counting.size(); i-- > 0;) write_result(*counting[i], json);
  return json.end_array().take();
}

// Whether nothing else was said: who wrote "argument" meant another call than would be made.
bool is_approval(const Json& payload) {
  for (const auto& [name, value] : *payload.as_object()) {
    if (name != "approved" && name != "arguments" && name != "reason") return false;
  }
  return true;
}

// {approved, arguments?, reason?}
Confirmation read_approval(Fields& payload) {
  Confirmation confirmation;
  const Json* approved = payload.any("approved");
  if (approved == nullptr || approved->as_boolean() == nullptr) return confirmation;
  confirmation.decision = *approved->as_boolean() ? "approve" : "deny";
  if (Nullable<Fields> arguments = payload.nullable_object("arguments"); arguments.value) {
    if (*approved->as_boolean()) confirmation.arguments = payload.any("arguments")->dump();
  }
  confirmation.reason = payload.nullable_text("reason", {.takes_control = true}).value;
  return confirmation;
}

void read_payload(Fields& entry, AguiAnswer& answer) {
  const Json* payload = entry.any("payload");
  if (payload == nullptr || payload->is_null()) return;
  if (payload->dump().size() > answer_bytes_max) {
    entry.fault("payload", "too_long", fmt::format("must have at most {} bytes", answer_bytes_max));
  } else if (payload->is_text()) {
    if (is_blank_text(*payload->as_text())) entry.fault("payload", "required", "must not be blank");
    answer.text = *payload->as_text();
    answer.confirmation = read_confirmation(*payload->as_text());
  } else if (payload->is_object()) {
    Fields members = *entry.nullable_object("payload").value;
    if (is_approval(*payload)) answer.confirmation = read_approval(members);
    answer.elicited = payload->dump();
  } else {
    entry.fault("payload", "wrong_type", "must be a text, or an object with approved or action");
  }
}

// A run asks one thing at a time.
std::optional<AguiAnswer> read_resume(Fields& fields) {
  if (!fields.has_value("resume")) return std::nullopt;
  std::vector<Fields> entries = fields.optional_objects("resume", interrupts_max);
  if (entries.empty()) return std::nullopt;
  if (entries.size() > 1) {
    fields.fault("resume", "too_long",
                 "must have one entry, because a run has one interrupt at a time");
    return std::nullopt;
  }
  AguiAnswer answer;
  answer.interrupt_id = entries[0].required_text("interruptId", {.min = 1, .max = 256});
  std::string status = entries[0].required_choice("status", {"resolved", "cancelled"});
  answer.abandons = status == "cancelled";
  if (!answer.abandons) read_payload(entries[0], answer);
  return answer;
}

// The end of the messages: what a user said, or what tools of the client did.
void read_news(Fields& fields, const UploadLimits& limits, AguiInput& wanted) {
  std::vector<Fields> messages = fields.optional_objects("messages", messages_max);
  bool says = !messages.empty() && has_role(messages.back(), "user");
  // A client that abandons a question to send a message sends that message.
  if (wanted.answer && !(wanted.answer->abandons && says)) return;
  wanted.answer.reset();
  if (says) {
    GivenParts parts(limits);
    wanted.message = read_user_message(messages.back(), parts);
    wanted.parts = parts.take();
  } else if (!messages.empty() && has_role(messages.back(), "tool")) {
    wanted.results = read_results(messages);
  } else {
    fields.fault("messages", "required", "must end with a message of the user or of tools");
  }
}

// [{description, value}]: what the app wants its agent to know, as text for the model.
std::string read_context(Fields& fields) {
  std::vector<Fields> entries;
  if (fields.has_value("context")) entries = fields.optional_objects("context", context_max);
  std::string text;
  for (Fields& entry : entries) {
    std::string description = entry.required_text("description", {.takes_control = true});
    std::string value = entry.required_text("value", {.takes_control = true});
    text += fmt::format("{}{}:\n{}", text.empty() ? "" : "\n\n", description, value);
  }
  if (text.size() > message_bytes_max) {
    fields.fault("context", "too_long",
                 fmt::format("must have at most {} bytes of text", message_bytes_max));
  }
  return text;
}

void read_forwarded(Fields& fields, AguiInput& wanted) {
  wanted.metadata = "{}";
  Nullable<Fields> given = fields.nullable_object("forwardedProps");
  if (!given.value) return;
  wanted.choice = read_run_choice(*given.value);
  wanted.end_user = given.value->nullable_text("end_user", end_user_bounds).value;
  if (given.value->has_value("metadata")) {
    wanted.metadata = read_metadata(*given.value).value_or("{}");
  }
}

}  // namespace

AguiInput read_agui_input(Fields fields, const UploadLimits& limits) {
  AguiInput wanted;
  wanted.thread_id = fields.required_text("threadId", name_bounds);
  wanted.run_id = fields.required_text("runId", name_bounds);
  wanted.answer = read_resume(fields);
  read_news(fields, limits, wanted);
  wanted.context = read_context(fields);
  read_forwarded(fields, wanted);
  FunctionTools tools;
  if (fields.has_value("tools")) tools = read_function_tools(fields, ToolForm::agui);
  fields.check();
  check_tool_names(tools.names);
  wanted.tools = std::move(tools.json);
  wanted.tool_names = std::move(tools.names);
  return wanted;
}

}  // namespace hostler
