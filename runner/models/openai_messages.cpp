// See runner/models/openai_messages.h.
#include "runner/models/openai_messages.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner/models/format_words.h"

namespace hostler {
namespace {

std::string_view role_name(ChatRole role) {
  switch (role) {
    case ChatRole::system:
      return "system";
    case ChatRole::user:
      return "user";
    case ChatRole::assistant:
      return "assistant";
    case ChatRole::tool:
      return "tool";
  }
  return "user";
}

// Joins consecutive messages of one speaker.
using Said = std::vector<const ChatMessage*>;

bool is_empty_answer(const ChatMessage& message) {
  return message.role == ChatRole::assistant && !has_calls(message.parts) &&
         is_blank(message.text());
}

std::vector<Said> spoken_in_turn(const std::vector<ChatMessage>& messages) {
  std::vector<Said> all;
  for (const ChatMessage& message : messages) {
    if (is_empty_answer(message)) continue;
    bool may_join = message.role == ChatRole::user || message.role == ChatRole::assistant;
    const ChatMessage* last = all.empty() ? nullptr : all.back().front();
    bool joins =
        may_join && last != nullptr && last->role == message.role && last->name == message.name;
    if (!joins) all.emplace_back();
    all.back().push_back(&message);
  }
  return all;
}

std::string text_of(const Said& series) {
  if (series.size() == 1) return series.front()->text();
  std::string text;
  for (const ChatMessage* message : series) append_turn_text(text, message->text());
  return text;
}

// Values that the provider sent itself go back, unless it refuses that. Values from a client's
// history go to providers that accept them.
bool is_sent(const OpaquePart& own, const ModelTraits& traits) {
  if (!own.origin.empty()) return !traits.no_own_reasoning;
  return traits.takes_given_reasoning && !traits.no_given_reasoning;
}

// Members of two messages in one: texts are joined as those of the answer are, lists follow each
// other, of anything else the later one stays.
void join_members(Json::Object& all, const Json::Object& further) {
  for (const auto& [name, value] : further) {
    auto known = std::find_if(all.begin(), all.end(),
                              [&name = name](const Json::Member& m) { return m.first == name; });
    if (known == all.end()) {
      all.emplace_back(name, value);
    } else if (known->second.is_text() && value.is_text()) {
      append_turn_text(*known->second.as_text(), *value.as_text());
    } else if (known->second.is_array() && value.is_array()) {
      Json::Array& items = *known->second.as_array();
      items.insert(items.end(), value.as_array()->begin(), value.as_array()->end());
    } else {
      known->second = value;
    }
  }
}

// Members that the provider sent for itself.
void write_members(JsonWriter& json, const OpaquePart& own) {
  std::optional<Json> members = parse_json_or_nothing(own.data);
  if (!members || !members->is_object()) return;
  for (const auto& [name, value] : *members->as_object()) json.key(name).value(value);
}

void write_own_members(JsonWriter& json, const Said& series, const ModelTraits& traits) {
  std::vector<const OpaquePart*> sent;
  for (const ChatMessage* message : series) {
    for (const Part& part : message->parts) {
      const OpaquePart* own = std::get_if<OpaquePart>(&part);
      bool is_of_message = own != nullptr && own->place == OpaquePart::Place::message;
      if (is_of_message && is_sent(*own, traits)) sent.push_back(own);
    }
  }
  if (sent.size() == 1) return write_members(json, *sent.front());
  Json::Object all;
  for (const OpaquePart* own : sent) {
    std::optional<Json> members = parse_json_or_nothing(own->data);
    if (members && members->is_object()) join_members(all, *members->as_object());
  }
  for (const auto& [name, value] : all) json.key(name).value(value);
}

void write_calls(JsonWriter& json, const Parts& parts, const ModelTraits& traits) {
  for (size_t i = 0; i < parts.size(); ++i) {
    const ToolCall* call = std::get_if<ToolCall>(&parts[i]);
    if (call == nullptr) continue;
    json.begin_object().member("id", call->id).member("type", "function");
    json.key("function").begin_object().member("name", name_on_the_wire(call->name));
    json.member("arguments", arguments_object(call->arguments)).end_object();
    const OpaquePart* own = i + 1 < parts.size() ? std::get_if<OpaquePart>(&parts[i + 1]) : nullptr;
    bool is_of_call = own != nullptr && own->place == OpaquePart::Place::call;
    if (is_of_call && is_sent(*own, traits)) write_members(json, *own);
    json.end_object();
  }
}

bool has_blocks(const Said& series) {
  return std::any_of(series.begin(), series.end(), [](const ChatMessage* message) {
    return std::any_of(message->parts.begin(), message->parts.end(), [](const Part& part) {
      const OpaquePart* own = std::get_if<OpaquePart>(&part);
      return own != nullptr && own->place == OpaquePart::Place::block;
    });
  });
}

// Mistral's thoughts stand among the texts.
void write_content_blocks(JsonWriter& json, const Said& series) {
  json.key("content").begin_array();
  for (const ChatMessage* message : series) {
    for (const Part& part : message->parts) {
      const TextPart* text = std::get_if<TextPart>(&part);
      const OpaquePart* own = std::get_if<OpaquePart>(&part);
      if (text != nullptr && !text->text.empty()) {
        json.begin_object().member("type", "text").member("text", text->text).end_object();
      } else if (own != nullptr && own->place == OpaquePart::Place::block) {
        json.raw(own->data);
      }
    }
  }
  json.end_array();
}

bool shows_images(const Said& series) {
  return std::any_of(series.begin(), series.end(),
                     [](const ChatMessage* message) { return has_images(message->parts); });
}

void write_image(JsonWriter& json, const ImagePart& image) {
  json.begin_object().member("type", "image_url").key("image_url").begin_object();
  json.member("url", "data:" + image.sent_type + ";base64," + *image.base64);
  if (!image.detail.empty()) json.member("detail", image.detail);
  json.end_object().end_object();
}

// Texts and images of the user in their order.
void write_shown_parts(JsonWriter& json, const Said& series) {
  json.key("content").begin_array();
  for (const ChatMessage* message : series) {
    for (const Part& part : message->parts) {
      if (const TextPart* text = std::get_if<TextPart>(&part)) {
        if (is_blank(text->text)) continue;
        json.begin_object().member("type", "text").member("text", text->text).end_object();
      } else if (const ImagePart* image = std::get_if<ImagePart>(&part)) {
        write_image(json, *image);
      }
    }
  }
  json.end_array();
}

void write_content(JsonWriter& json, const Said& series, bool calls_tools) {
  if (has_blocks(series)) return write_content_blocks(json, series);
  if (shows_images(series)) return write_shown_parts(json, series);
  std::string text = text_of(series);
  // An assistant that only calls tools has no content; some servers insist on null, not "".
  if (text.empty() && calls_tools) {
    json.key("content").null();
  } else {
    json.member("content", text);
  }
}

void write_message(JsonWriter& json, const Said& series, const ModelTraits& traits) {
  const ChatMessage& first = *series.front();
  json.begin_object().member("role", role_name(first.role));
  if (!first.name.empty()) json.member("name", first.name);
  bool calls_tools = std::any_of(series.begin(), series.end(), [](const ChatMessage* message) {
    return has_calls(message->parts);
  });
  write_content(json, series, calls_tools);
  if (first.role == ChatRole::tool) json.member("tool_call_id", first.tool_call_id);
  write_own_members(json, series, traits);
  if (calls_tools) {
    json.key("tool_calls").begin_array();
    for (const ChatMessage* message : series) write_calls(json, message->parts, traits);
    json.end_array();
  }
  json.end_object();
}

// The prompt is the first message, if there is one.
void add_to_prompt(std::vector<ChatMessage>& messages, std::string words) {
  if (words.empty()) return;
  if (messages.empty() || messages.front().role != ChatRole::system) {
    messages.insert(messages.begin(), ChatMessage(ChatRole::system, std::string()));
  }
  append_turn_text(messages.front().first_text(), words);
}

// The texts of the system stay in their places, as the user's words. The joining of words in a row
// makes the prompt the beginning of what the user says first.
void give_to_user(std::vector<ChatMessage>& messages) {
  std::string name;
  for (const ChatMessage& message : messages) {
    if (message.role != ChatRole::user) continue;
    name = message.name;
    break;
  }
  for (ChatMessage& message : messages) {
    if (message.role != ChatRole::system) continue;
    message.role = ChatRole::user;
    message.name = name;
  }
}

}  // namespace

void write_openai_messages(JsonWriter& json, const ModelRequest& request) {
  const std::vector<ChatMessage>* messages = &request.messages;
  std::vector<ChatMessage> adapted;
  std::string words = replaced_mode_words(request);
  if (request.traits.no_system_role || !words.empty()) {
    adapted = request.messages;
    add_to_prompt(adapted, std::move(words));
    if (request.traits.no_system_role) give_to_user(adapted);
    messages = &adapted;
  }
  std::vector<Said> all = spoken_in_turn(*messages);
  // Providers refuse a request without messages.
  const ChatMessage nothing(ChatRole::user, "(The message is empty.)");
  if (all.empty()) all.push_back({&nothing});
  json.key("messages").begin_array();
  for (const Said& series : all) write_message(json, series, request.traits);
  json.end_array();
}

}  // namespace hostler
