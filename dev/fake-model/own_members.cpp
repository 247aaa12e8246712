// The forms of own_members.h.
#include "dev/fake-model/own_members.h"

#include <algorithm>
#include <vector>

#include "dev/fake-model/chat_checks.h"
#include "dev/fake-model/script.h"

namespace hostler::fake_model {
namespace {

constexpr std::string_view names[] = {"reasoning_content", "reasoning",        "reasoning_details",
                                      "extra_content",     "message_extra",    "thought",
                                      "thinking",          "redacted_thinking"};

// Whether a value somewhere in the JSON is this text.
bool holds(const Json* json, std::string_view value) {
  if (json == nullptr) return false;
  if (const std::string* text = json->as_text()) return *text == value;
  if (const Json::Array* items = json->as_array()) {
    return std::any_of(items->begin(), items->end(),
                       [value](const Json& item) { return holds(&item, value); });
  }
  if (!json->is_object()) return false;
  return std::any_of(json->as_object()->begin(), json->as_object()->end(),
                     [value](const Json::Member& member) { return holds(&member.second, value); });
}

bool has_calls(const Json& message) {
  const Json* calls = message.find("tool_calls");
  if (calls != nullptr && calls->is_array()) return true;
  const Json* content = message.find("content");
  if (content == nullptr || !content->is_array()) return false;
  return std::any_of(content->as_array()->begin(), content->as_array()->end(),
                     [](const Json& block) { return block.text_or("type") == "tool_use"; });
}

// Anthropic wants the thoughts before everything else.
bool begins_with(const Json& message, std::string_view form, std::string_view value) {
  const Json* content = message.find("content");
  if (content == nullptr || !content->is_array()) return false;
  for (const Json& block : *content->as_array()) {
    std::string_view type = block.text_or("type");
    if (type == form && holds(&block, value)) return true;
    if (!type.ends_with("thinking")) return false;
  }
  return false;
}

bool has_own(const Json& message, std::string_view form, std::string_view value) {
  if (form == "thinking" || form == "redacted_thinking") return begins_with(message, form, value);
  if (form == "thought") return holds(message.find("content"), value);
  if (form == "message_extra") return holds(message.find("extra_content"), value);
  if (form != "extra_content") return holds(message.find(form), value);
  const Json* calls = message.find("tool_calls");
  if (calls == nullptr || !calls->is_array()) return false;
  return std::any_of(calls->as_array()->begin(), calls->as_array()->end(),
                     [&](const Json& call) { return holds(call.find("extra_content"), value); });
}

Refusal missing(size_t index, std::string_view form) {
  std::string place = std::to_string(index);
  if (form == "extra_content" || form == "message_extra") {
    return refused(
        "Function call is missing a thought_signature in functionCall parts. (messages[" + place +
        "])");
  }
  if (form == "thinking" || form == "redacted_thinking") {
    return refused(
        "messages." + place +
        ".content.0.type: Expected `thinking` or `redacted_thinking`. When `thinking` is "
        "enabled, a final `assistant` message must start with a thinking block.");
  }
  return refused("Missing `" + std::string(form) +
                 "` field in the assistant message at message index " + place + ".");
}

std::vector<Turn> turns_of(std::string_view script) {
  std::variant<std::vector<Turn>, ScriptFault> parsed = parse_script(script);
  std::vector<Turn>* turns = std::get_if<std::vector<Turn>>(&parsed);
  return turns == nullptr ? std::vector<Turn>() : std::move(*turns);
}

}  // namespace

std::span<const std::string_view> own_member_names() { return names; }

std::string own_value(std::string_view script, int64_t turn, std::string_view form) {
  return fake_id("own_", hash_of(script), hash_of(form) + static_cast<uint64_t>(turn));
}

std::optional<Refusal> refused_for_own_members(
    const Json& body, std::string_view (*script_of)(std::string_view text)) {
  const Json* messages = body.find("messages");
  if (messages == nullptr || !messages->is_array()) return std::nullopt;
  std::string script;
  std::vector<Turn> turns;
  size_t turn = 0;
  for (size_t i = 0; i < messages->as_array()->size(); ++i) {
    const Json& message = (*messages->as_array())[i];
    std::string_view role = message.text_or("role");
    if (role == "user") {
      std::string text = content_text(message.find("content"));
      if (text.empty() || asks_for_repair(text)) continue;
      script = script_of(text);
      turns = script.find("[own ") == std::string::npos ? std::vector<Turn>() : turns_of(script);
      turn = 0;
    }
    if (role != "assistant") continue;
    size_t number = turn++;
    if (number >= turns.size() || !has_calls(message)) continue;
    for (const Step& step : turns[number]) {
      if (step.kind != StepKind::own) continue;
      std::string value = own_value(script, static_cast<int64_t>(number), step.text);
      if (!has_own(message, step.text, value)) return missing(i, step.text);
    }
  }
  return std::nullopt;
}

std::string openai_own_members(std::string_view form, std::string_view value) {
  std::string quoted = json_quote(value);
  if (form == "reasoning_details") {
    return R"("reasoning_details":[{"type":"reasoning.encrypted","index":0,"format":"fake",)"
           R"("data":)" +
           quoted + "}]";
  }
  if (form == "extra_content" || form == "message_extra") {
    return R"("extra_content":{"google":{"thought_signature":)" + quoted + "}}";
  }
  if (form == "thought") {
    return R"("content":[{"type":"thinking","thinking":[{"type":"text","text":)" + quoted + "}]}]";
  }
  return json_quote(form) + ":" + quoted;
}

}  // namespace hostler::fake_model
