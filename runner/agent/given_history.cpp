// See runner/agent/given_history.h.
#include "runner/agent/given_history.h"

#include "lib/blank_text.h"
#include "lib/json.h"
#include "lib/json_whole.h"
#include "runner/agent/conversation.h"

namespace hostler::runner {
namespace {

ChatRole role_named(std::string_view name) {
  if (name == "assistant") return ChatRole::assistant;
  if (name == "system") return ChatRole::system;
  return name == "tool" ? ChatRole::tool : ChatRole::user;
}

std::optional<double> number_of(const Json& object, std::string_view name) {
  const Json* value = object.find(name);
  return value == nullptr ? std::nullopt : value->as_number();
}

std::optional<int64_t> integer_of(const Json& object, std::string_view name) {
  const Json* value = object.find(name);
  return value == nullptr ? std::nullopt : whole_of(*value);
}

std::optional<ToolChoice> tool_choice_of(const Json& sampling) {
  const Json* wanted = sampling.find("tool_choice");
  if (wanted == nullptr) return std::nullopt;
  if (wanted->is_object()) {
    return ToolChoice{ToolChoice::Kind::named, std::string(wanted->text_or("name"))};
  }
  std::string_view word = sampling.text_or("tool_choice");
  if (word == "none") return ToolChoice{ToolChoice::Kind::none};
  return ToolChoice{word == "required" ? ToolChoice::Kind::required : ToolChoice::Kind::automatic};
}

// Models call a function without arguments with no text at all, and clients send that back: servers
// that read it as JSON refuse it.
void add_given_calls(Parts& parts, const Json& given) {
  if (!given.is_array()) return;
  for (const Json& item : *given.as_array()) {
    ToolCall call{std::string(item.text_or("id")), std::string(item.text_or("name")),
                  std::string(item.text_or("arguments"))};
    if (is_blank_text(call.arguments)) call.arguments = "{}";
    parts.emplace_back(std::move(call));
    const Json* extra = item.find("extra_content");
    if (extra == nullptr || !extra->is_object()) continue;
    JsonWriter own;
    own.begin_object().key("extra_content").value(*extra).end_object();
    parts.emplace_back(OpaquePart{OpaquePart::Place::call, own.take()});
  }
}

// opaque: the members of an assistant's message that its provider wants back, as the client has
// them. Who sent them is not known.
Parts given_parts(const Json& item) {
  Parts parts;
  const Json* opaque = item.find("opaque");
  if (opaque != nullptr && opaque->is_object()) {
    parts.emplace_back(OpaquePart{OpaquePart::Place::message, opaque->dump()});
  }
  std::string_view content = item.text_or("content");
  const Json* shown = item.find("parts");
  if (shown != nullptr) {
    for (Part& part : parts_read(*shown)) parts.push_back(std::move(part));
  } else if (!content.empty()) {
    parts.emplace_back(TextPart{std::string(content)});
  }
  const Json* calls = item.find("tool_calls");
  if (calls != nullptr) add_given_calls(parts, *calls);
  return parts;
}

}  // namespace

GivenHistory read_given_history(std::string_view json, const std::vector<EarlierTurn>& earlier) {
  GivenHistory history;
  std::optional<Json> parsed = parse_json_or_nothing(json);
  if (!parsed || !parsed->is_array()) return history;
  for (const Json& item : *parsed->as_array()) {
    std::string_view role = item.text_or("role");
    std::string_view content = item.text_or("content");
    bool is_of_system = role == "system";
    if (is_of_system && content.empty()) continue;
    if (is_of_system && history.messages.empty() && item.find("name") == nullptr) {
      if (!history.system_text.empty()) history.system_text += "\n\n";
      history.system_text += content;
      continue;
    }
    ChatMessage& message = history.messages.emplace_back(role_named(role), given_parts(item));
    message.name = item.text_or("name");
    message.tool_call_id = item.text_or("tool_call_id");
    message.run_id = item.text_or("run_id");
  }
  history.messages = with_earlier_turns(std::move(history.messages), earlier);
  return history;
}

void add_sampling(ModelRequest& request, std::string_view json) {
  std::optional<Json> wanted = parse_json_or_nothing(json);
  if (!wanted) return;
  if (std::optional<double> own = number_of(*wanted, "temperature")) request.temperature = own;
  request.output_tokens_max = integer_of(*wanted, "max_tokens");
  Sampling& sampling = request.sampling;
  sampling.top_p = number_of(*wanted, "top_p");
  sampling.presence_penalty = number_of(*wanted, "presence_penalty");
  sampling.frequency_penalty = number_of(*wanted, "frequency_penalty");
  sampling.seed = integer_of(*wanted, "seed");
  sampling.tool_choice = tool_choice_of(*wanted);
  const Json* parallel = wanted->find("parallel_tool_calls");
  if (parallel != nullptr && parallel->as_boolean() != nullptr) {
    sampling.parallel_tool_calls = *parallel->as_boolean();
  }
  const Json* stop = wanted->find("stop");
  if (stop == nullptr || !stop->is_array()) return;
  for (const Json& text : *stop->as_array()) {
    if (text.is_text()) sampling.stop.push_back(*text.as_text());
  }
}

}  // namespace hostler::runner
