// Reads what OpenAI's API reference (Chat Completions, streaming) says and what compatible servers
// send: each departure that is accepted has a comment. See runner/models/openai.h.
#include "runner/models/openai.h"

#include <algorithm>

#include "lib/json_whole.h"
#include "lib/utf8.h"

namespace hostler {
namespace {

// The deprecated function_call has no index.
constexpr int64_t function_call_index = INT64_MIN;
// Numbers of texts for the joining of halves of characters; others are in turn_reader.cpp.
constexpr int64_t own_texts_stream = -10;

// Some servers write null as a word.
bool is_no_reason(std::string_view reason) {
  return reason.empty() || reason == "null" || reason == "None" || reason == "none" ||
         reason == "undefined";
}

// A further piece of a detail: text goes on, what else it says replaces.
void join_detail(Json::Object& detail, const Json::Object& piece) {
  for (const auto& [name, value] : piece) {
    if (value.is_null()) continue;
    auto known = std::find_if(detail.begin(), detail.end(),
                              [&name = name](const Json::Member& m) { return m.first == name; });
    bool is_text = name == "text" || name == "summary" || name == "data";
    if (known == detail.end()) {
      detail.emplace_back(name, value);
    } else if (is_text && known->second.is_text() && value.is_text()) {
      *known->second.as_text() += *value.as_text();
    } else {
      known->second = value;
    }
  }
}

// Mistral: the text of a thought comes in pieces.
void join_thinking(Json::Object& block, const Json::Object& piece) {
  for (const auto& [name, value] : piece) {
    auto known = std::find_if(block.begin(), block.end(),
                              [&name = name](const Json::Member& m) { return m.first == name; });
    if (known == block.end()) {
      block.emplace_back(name, value);
    } else if (name != "thinking" || !known->second.is_array() || !value.is_array()) {
      known->second = value;
    } else {
      for (const Json& item : *value.as_array()) {
        Json::Array& items = *known->second.as_array();
        bool goes_on = !items.empty() && items.back().text_or("type") == "text" &&
                       item.text_or("type") == "text";
        if (goes_on) {
          join_detail(*items.back().as_object(), *item.as_object());
        } else {
          items.push_back(item);
        }
      }
    }
  }
}

}  // namespace

void OpenAiReader::take_event(const Json& event) {
  take_usage(event);
  take_choices(event, "delta");
}

void OpenAiReader::take_late_event(const Json& event) {
  take_usage(event);
  const Json* choices = event.find("choices");
  if (choices == nullptr || choices->as_array() == nullptr) return;
  for (const Json& choice : *choices->as_array()) {
    if (choice.is_object()) take_usage(choice);
  }
}

void OpenAiReader::take_document(const Json& document) {
  take_usage(document);
  take_choices(document, "message");
}

// Azure's first chunk has no choices, the last one with the usage neither.
void OpenAiReader::take_choices(const Json& event, std::string_view message_member) {
  const Json* choices = event.find("choices");
  if (choices == nullptr || choices->as_array() == nullptr) return;
  for (const Json& choice : *choices->as_array()) {
    if (!choice.is_object() || choice.integer_or("index", 0) != 0) continue;
    has_choice_ = true;
    if (const Json* message = choice.find(message_member)) take_message(*message);
    // OpenRouter: the fault of its provider, beside a finish reason.
    std::optional<ProviderError> error;
    if (choice.find("error") != nullptr) error = read_provider_error(choice);
    if (error) return fail(*std::move(error));
    std::string_view reason = choice.text_or("finish_reason");
    if (!is_no_reason(reason)) finish_with(reason);
    // Moonshot.
    if (choice.find("usage") != nullptr) take_usage(choice);
  }
}

void OpenAiReader::take_message(const Json& message) {
  // DeepSeek and others say reasoning_content, OpenRouter and others reasoning; some say both.
  const Json* thinking = message.find("reasoning_content");
  if (thinking == nullptr || !thinking->is_text()) thinking = message.find("reasoning");
  take_content(TextChannel::thinking, thinking);
  take_content(TextChannel::answer, message.find("content"));
  take_content(TextChannel::answer, message.find("refusal"));
  const Json* calls = message.find("tool_calls");
  if (calls != nullptr) take_tool_calls(*calls);
  const Json* call = message.find("function_call");
  if (call != nullptr && call->is_object()) {
    pieces_.begin_delta();
    take_function({.index = function_call_index}, *call, nullptr);
  }
  take_own_members(message);
}

// Members that providers want back with the message: their reasoning, which comes in pieces, and
// Google's extra_content with its signatures.
void OpenAiReader::take_own_members(const Json& message) {
  int64_t stream = own_texts_stream;
  for (const char* name : {"reasoning_content", "reasoning"}) {
    --stream;
    const Json* piece = message.find(name);
    if (piece == nullptr || !piece->is_text() || !count_opaque(piece->as_text()->size())) continue;
    own_texts_[name] += whole_characters(stream, *piece->as_text());
  }
  const Json* details = message.find("reasoning_details");
  if (details != nullptr && details->is_array()) {
    for (const Json& detail : *details->as_array()) take_reasoning_detail(detail);
  }
  const Json* extra = message.find("extra_content");
  if (extra != nullptr && extra->is_object()) {
    std::string text = extra->dump();
    if (count_opaque(text.size())) own_extra_ = std::move(text);
  }
}

// OpenRouter: pieces of one detail have its type and index; what is no text is sent once.
void OpenAiReader::take_reasoning_detail(const Json& detail) {
  if (!detail.is_object() || !count_opaque(detail.dump().size())) return;
  if (!own_details_.empty()) {
    Json& last = own_details_.back();
    bool goes_on = last.text_or("type") == detail.text_or("type") &&
                   last.integer_or("index", -1) == detail.integer_or("index", -1) &&
                   detail.find("index") != nullptr;
    if (goes_on) {
      join_detail(*last.as_object(), *detail.as_object());
      return;
    }
  }
  own_details_.push_back(detail);
}

std::string OpenAiReader::message_members() const {
  if (own_texts_.empty() && own_details_.empty() && own_extra_.empty()) return {};
  JsonWriter json;
  json.begin_object();
  for (const auto& [name, text] : own_texts_) json.member(name, text);
  if (!own_details_.empty()) {
    json.key("reasoning_details").begin_array();
    for (const Json& detail : own_details_) json.value(detail);
    json.end_array();
  }
  if (!own_extra_.empty()) json.member_raw("extra_content", own_extra_);
  return json.end_object().take();
}

// A text; or, from Mistral, a list of parts.
void OpenAiReader::take_content(TextChannel channel, const Json* content) {
  if (content == nullptr) return;
  if (const std::string* text = content->as_text()) {
    if (channel == TextChannel::answer && !text->empty()) close_thought();
    add_text(channel, *text);
  }
  if (content->as_array() == nullptr) return;
  for (const Json& part : *content->as_array()) {
    const Json* thinking = part.find("thinking");
    if (thinking != nullptr) take_thought(part, *thinking);
    take_content(channel, part.find("text"));
  }
}

// Wanted back in its place among the texts.
void OpenAiReader::take_thought(const Json& part, const Json& thinking) {
  take_content(TextChannel::thinking, &thinking);
  if (!count_opaque(part.dump().size())) return;
  if (!thought_) {
    thought_place_ = open_block();
    thought_ = *part.as_object();
  } else {
    join_thinking(*thought_, *part.as_object());
  }
}

void OpenAiReader::close_thought() {
  if (!thought_) return;
  block_at(thought_place_).data = Json(*std::move(thought_)).dump();
  thought_.reset();
}

void OpenAiReader::take_tool_calls(const Json& calls) {
  if (calls.as_array() == nullptr) return;
  pieces_.begin_delta();
  for (const Json& call : *calls.as_array()) {
    if (!call.is_object()) continue;
    CallPiece piece{.id = call.text_or("id")};
    const Json* index = call.find("index");
    if (index != nullptr) piece.index = whole_of(*index);
    const Json* function = call.find("function");
    // Some gateways put name and arguments beside the id.
    take_function(piece, function != nullptr && function->is_object() ? *function : call,
                  call.find("extra_content"));
  }
}

void OpenAiReader::take_function(CallPiece piece, const Json& function, const Json* extra) {
  piece.name = function.text_or("name");
  std::string object;
  const Json* arguments = function.find("arguments");
  if (arguments != nullptr && arguments->is_text()) {
    piece.arguments = *arguments->as_text();
  } else if (arguments != nullptr && !arguments->is_null()) {
    // Ollama sends the object itself.
    object = arguments->dump();
    piece.arguments = object;
  }
  std::optional<size_t> nth = pieces_.call_of(piece);
  if (!nth) {
    nth = open_call();
    if (!nth) return;
    close_thought();
    pieces_.open(piece);
  }
  pieces_.take(*nth, piece);
  ToolCall& call = call_at(*nth);
  if (call.id.empty()) call.id = utf8_prefix(piece.id, 256);
  join_name(call.name, piece.name);
  add_arguments(*nth, piece.arguments);
  if (extra == nullptr || !extra->is_object()) return;
  JsonWriter own;
  own.begin_object().key("extra_content").value(*extra).end_object();
  set_call_opaque(*nth, own.take());
}

// Arguments that were sent twice count once, unless the answer was cut: then nobody knows.
void OpenAiReader::finish_held() {
  close_thought();
  if (!is_complete() || was_stopped()) return;
  for (size_t nth = 0; nth < open_calls(); ++nth) {
    ToolCall& call = call_at(nth);
    std::optional<std::string_view> finished = pieces_.finished(nth, call.arguments);
    if (finished) call.arguments = std::string(*finished);
  }
}

// In a stream it may come after the last event, in Groq's own member, or in each event (the last
// one counts).
void OpenAiReader::take_usage(const Json& event) {
  const Json* tokens = event.find("usage");
  if (tokens == nullptr || !tokens->is_object()) {
    const Json* groq = event.find("x_groq");
    tokens = groq == nullptr ? nullptr : groq->find("usage");
  }
  if (tokens == nullptr || !tokens->is_object()) return;
  if (!are_counts(*tokens, {"prompt_tokens", "completion_tokens"})) return;
  ModelUsage usage;
  usage.input_tokens = tokens_in(*tokens, "prompt_tokens");
  usage.output_tokens = tokens_in(*tokens, "completion_tokens");
  // DeepSeek's own name for it.
  usage.cache_read_tokens = tokens_in(*tokens, "prompt_cache_hit_tokens");
  if (const Json* details = tokens->find("prompt_tokens_details")) {
    usage.cache_read_tokens = tokens_in(*details, "cached_tokens", usage.cache_read_tokens);
  }
  usage.measured = true;
  set_usage(usage);
}

}  // namespace hostler
