// See fcgi/api/ui/chat_body.h.
#include "fcgi/api/ui/chat_body.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fcgi/api/runs/function_tools.h"
#include "fcgi/api/runs/marks.h"
#include "lib/blank_text.h"
#include "lib/json.h"

namespace hostler {
namespace {

constexpr size_t messages_max = 10'000;
constexpr size_t parts_max = 10'000;
constexpr size_t shown_parts_max = 20;          // of a message with images
constexpr size_t content_bytes_max = 64 << 10;  // as of a thread's message
constexpr size_t message_id_bytes_max = 256;
constexpr TextBounds id_bounds{.min = 1, .max = 256, .takes_control = true};
// A length over the limit is reported once, for all parts together.
constexpr TextBounds text_bounds{.max = TextBounds::body_text_bytes_max, .takes_control = true};
// The SDK knows only the words of an app's error.
constexpr std::string_view error_code = "tool.failed";

struct LastMessage {
  std::string name;  // in faults
  Fields fields;
  std::vector<Fields> parts;
};

std::optional<LastMessage> read_last_message(Fields& fields) {
  std::vector<Fields> messages = fields.optional_objects("messages", messages_max);
  if (messages.empty()) {
    const Json* given = fields.any("messages");
    if (given == nullptr) {
      fields.fault("messages", "required", "is required");
    } else if (given->as_array() != nullptr && given->as_array()->empty()) {
      fields.fault("messages", "too_short", "must have at least 1 item");
    }
    return std::nullopt;
  }
  std::string name = fmt::format("messages.{}", messages.size() - 1);
  std::vector<Fields> parts = messages.back().optional_objects("parts", parts_max);
  return LastMessage{std::move(name), std::move(messages.back()), std::move(parts)};
}

// The texts of a message of the user's, and its files. What the app keeps beside them is its own.
std::string read_content(LastMessage& message, GivenParts& parts) {
  std::string content;
  for (Fields& part : message.parts) {
    std::string type = part.required_text("type", id_bounds);
    if (type == "text") {
      std::string text = part.required_text("text", text_bounds);
      if (!content.empty() && !text.empty()) content += '\n';
      content += text;
      if (!text.empty()) parts.add_text(text);
    } else if (type == "file") {
      std::string url = part.required_text("url", text_bounds);
      std::string name = part.nullable_text("filename", text_bounds).value.value_or("");
      if (!url.empty()) parts.add_image(part, "url", {.source = url, .name = name});
    } else if (!type.empty() && !type.starts_with("data-")) {
      part.fault("type", "bad_format",
                 fmt::format("a part of the type {} is not supported, only text and file", type));
    }
  }
  if (is_blank_text(content) && !parts.has_images()) {
    message.fields.fault("parts", "required", "must contain text or an image");
  } else if (content.size() > content_bytes_max) {
    message.fields.fault("parts", "too_long",
                         fmt::format("must have at most {} bytes of text", content_bytes_max));
  }
  if (parts.has_images() && parts.count() > shown_parts_max) {
    message.fields.fault("parts", "too_long", "must have at most 20 texts and images");
  }
  return content;
}

// Reads it like read_content(); nothing: the message has no parts. Other parts are not faults,
// because most such messages are stored already.
std::optional<std::string> text_of(const Json& message) {
  const Json* parts = message.find("parts");
  if (parts == nullptr || parts->as_array() == nullptr) return std::nullopt;
  std::string content;
  for (const Json& part : *parts->as_array()) {
    if (!part.is_object() || part.text_or("type") != "text") continue;
    std::string_view text = part.text_or("text");
    if (!content.empty() && !text.empty()) content += '\n';
    content += text;
  }
  return content;
}

bool is_of_user(const Json& message) {
  return message.is_object() && message.text_or("role") == "user";
}

// Messages that the client shows, oldest first; null: it sends none.
const Json::Array* shown_messages(Fields& fields) {
  const Json* given = fields.any("messages");
  return given == nullptr ? nullptr : given->as_array();
}

std::optional<std::string> last_question(Fields& fields) {
  const Json::Array* messages = shown_messages(fields);
  for (size_t i = messages == nullptr ? 0 : messages->size(); i-- > 0;) {
    if (is_of_user(messages->at(i))) return text_of(messages->at(i));
  }
  return std::nullopt;
}

// The last message is one that could have been said: the user's, with text and nothing that is not
// taken.
bool ends_with_text_of_user(Fields& fields) {
  const Json::Array* messages = shown_messages(fields);
  if (messages == nullptr || messages->empty() || !is_of_user(messages->back())) return false;
  std::optional<std::string> content = text_of(messages->back());
  if (!content || is_blank_text(*content) || content->size() > content_bytes_max) return false;
  const Json::Array& parts = *messages->back().find("parts")->as_array();
  return std::all_of(parts.begin(), parts.end(), [](const Json& part) {
    std::string_view type = part.is_object() ? part.text_or("type") : "";
    return type == "text" || type.starts_with("data-");
  });
}

// Members of the transport's body beside the message.
NewUiMessage read_wishes(Fields& fields, std::string content) {
  NewUiMessage wanted;
  wanted.content = std::move(content);
  wanted.end_user = fields.nullable_text("end_user", end_user_bounds).value;
  wanted.choice = read_run_choice(fields);
  if (fields.has_value("metadata")) wanted.metadata = read_metadata(fields).value_or("{}");
  FunctionTools tools;
  if (fields.has_value("tools")) tools = read_function_tools(fields);
  fields.check();
  check_tool_names(tools.names);
  wanted.tools = std::move(tools.json);
  return wanted;
}

// The client's name of a message. A value that could not be an id counts as absent, because it
// never had a meaning.
std::optional<std::string> own_id(Fields& message) {
  const Json* given = message.any("id");
  if (given == nullptr || !given->is_text()) return std::nullopt;
  const std::string& id = *given->as_text();
  bool is_usable = !id.empty() && id.size() <= message_id_bytes_max && id.find('\0') == id.npos;
  return is_usable ? std::optional(id) : std::nullopt;
}

NewUiMessage read_new_message(Fields& fields, LastMessage& message, const UploadLimits& limits) {
  GivenParts parts(limits);
  std::string content = read_content(message, parts);
  TextBounds bounds = id_bounds;
  bounds.min = 0;  // an empty one changes no message
  std::string named = fields.nullable_text("messageId", bounds).value.value_or("");
  std::optional<std::string> id = own_id(message.fields);
  bool is_edit = !named.empty() && named != id;
  if (is_edit) {
    fields.fault("messageId", "bad_format",
                 "messages of a thread cannot be changed; send a new one");
  }
  NewUiMessage wanted = read_wishes(fields, std::move(content));
  wanted.parts = parts.take();
  wanted.message_id = std::move(id);
  wanted.sends_again = !named.empty();
  return wanted;
}

UiRetry read_retry(Fields& fields) {
  UiRetry retry;
  retry.message_id = fields.nullable_text("messageId", id_bounds).value;
  retry.question = last_question(fields);
  if (!retry.message_id && ends_with_text_of_user(fields)) {
    retry.unsaid = read_wishes(fields, *retry.question);
  }
  fields.check();
  return retry;
}

bool is_tool(std::string_view type) { return type.starts_with("tool-") || type == "dynamic-tool"; }

// Text of an answer to a question: a text, also within {answer}, or else any JSON.
std::string words_of(const Json& output) {
  if (output.is_text()) return *output.as_text();
  std::string_view answer = output.text_or("answer");
  return answer.empty() ? output.dump() : std::string(answer);
}

// The output of a call that the client answered.
void write_result(Fields& part, bool is_error, JsonWriter& json) {
  json.begin_object().member("tool_call_id", part.required_text("toolCallId", id_bounds));
  std::string text;
  if (is_error) {
    std::string words = part.required_text("errorText", {.takes_control = true});
    JsonWriter error;
    error.begin_object().member("code", error_code).member("message", words).end_object();
    text = error.take();
    json.member_raw("error", text).member("words", words);
  } else {
    static const Json nothing;
    const Json* output = part.any("output");
    if (output == nullptr) output = &nothing;
    text = output->dump();
    json.member_raw("output", text).member("words", words_of(*output));
  }
  json.end_object();
  if (text.size() > tool_output_bytes_max) {
    part.fault(is_error ? "errorText" : "output", "too_long",
               fmt::format("must have at most {} bytes as compact JSON", tool_output_bytes_max));
  }
}

void write_approval(Fields& part, JsonWriter& json) {
  Nullable<Fields> approval = part.nullable_object("approval");
  if (!approval.value) {
    part.fault("approval", "required", "is required");
    return;
  }
  Fields& given = *approval.value;
  json.begin_object().member("id", given.required_text("id", id_bounds));
  json.member("approved", given.required_boolean("approved"));
  json.member("reason", given.nullable_text("reason", {.takes_control = true}).value.value_or(""));
  json.end_object();
}

UiAnswers read_answers(Fields& fields, LastMessage& message) {
  JsonWriter results;
  JsonWriter approvals;
  results.begin_array();
  approvals.begin_array();
  bool has_any = false;
  for (Fields& part : message.parts) {
    if (!is_tool(part.required_text("type", id_bounds))) continue;
    std::string state = part.required_text("state", id_bounds);
    bool ran_here = part.optional_boolean("providerExecuted").value_or(false);
    bool is_error = state == "output-error";
    if (state == "approval-responded") {
      write_approval(part, approvals);
      has_any = true;
    } else if ((is_error || state == "output-available") && !ran_here) {
      write_result(part, is_error, results);
      has_any = true;
    }
  }
  if (!has_any) {
    message.fields.fault("parts", "required",
                         "must contain an output of the client or an answer to an approval, "
                         "because the last message is the assistant's");
  }
  fields.check();
  return {results.end_array().take(), approvals.end_array().take()};
}

}  // namespace

UiChatBody read_ui_chat_body(Fields fields, const UploadLimits& limits) {
  UiChatBody body;
  body.chat = fields.required_text("id", {.min = 1, .max = chat_name_max, .takes_control = true});
  std::string trigger = fields.nullable_choice("trigger", {"submit-message", "regenerate-message"})
                            .value.value_or("submit-message");
  if (trigger == "regenerate-message") {
    body.wanted = read_retry(fields);
    return body;
  }
  std::optional<LastMessage> message = read_last_message(fields);
  std::string role = message ? message->fields.required_choice("role", {"user", "assistant"}) : "";
  if (message && role == "user") {
    body.wanted = read_new_message(fields, *message, limits);
  } else if (message && role == "assistant") {
    body.wanted = read_answers(fields, *message);
  } else {
    read_wishes(fields, {});  // whose faults are told with those of the message
  }
  fields.check();
  return body;
}

}  // namespace hostler
