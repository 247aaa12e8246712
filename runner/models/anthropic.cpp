// Reads what Anthropic's API reference (streaming messages) says. See runner/models/anthropic.h.
#include "runner/models/anthropic.h"

#include <algorithm>
#include <vector>

#include "lib/utf8.h"

namespace hostler {
namespace {

// Numbers of texts for the joining of halves of characters; others are in turn_reader.cpp.
constexpr int64_t own_texts_stream = -10;

}  // namespace

void AnthropicReader::take_event(const Json& event) {
  std::string_view type = event.text_or("type");
  if (type.starts_with("content_block_")) has_answer_ = true;
  if (type == "message_start") {
    if (const Json* message = event.find("message")) take_usage(*message, false);
  } else if (type == "content_block_start") {
    const Json* block = event.find("content_block");
    if (block != nullptr) begin_block(event.integer_or("index", 0), *block);
  } else if (type == "content_block_delta") {
    take_delta(event);
  } else if (type == "content_block_stop") {
    close_block(event.integer_or("index", 0));
  } else if (type == "message_delta") {
    take_usage(event, true);
    if (const Json* delta = event.find("delta")) finish_by(*delta);
  } else if (type == "message_stop") {
    mark_last_event();
  }
  // ping, and what the API may add.
}

void AnthropicReader::take_document(const Json& document) {
  take_usage(document, true);
  const Json* content = document.find("content");
  if (content != nullptr && content->as_array() != nullptr) {
    int64_t index = 0;
    for (const Json& block : *content->as_array()) {
      begin_block(index, block);
      close_block(index++);
    }
  }
  finish_by(document);
}

// In a stream text and thinking begin empty, and a call's input is {}: their pieces follow.
void AnthropicReader::begin_block(int64_t index, const Json& block) {
  std::string_view type = block.text_or("type");
  if (type == "text") {
    add_text(TextChannel::answer, block.text_or("text"));
  } else if (type == "thinking" || type == "redacted_thinking") {
    // The provider wants it back as it came, before the calls that it thought about.
    blocks_[index] = {open_block(), *block.as_object()};
    add_text(TextChannel::thinking, block.text_or("thinking"));
  } else if (type == "tool_use") {
    std::optional<size_t> nth = open_call();
    if (!nth) return;
    calls_[index] = *nth;
    call_at(*nth).id = utf8_prefix(block.text_or("id"), 256);
    call_at(*nth).name = utf8_prefix(block.text_or("name"), 256);
    const Json* input = block.find("input");
    bool is_whole = input != nullptr && input->is_object() && !input->as_object()->empty();
    if (is_whole) add_arguments(*nth, input->dump());
  }
}

void AnthropicReader::take_delta(const Json& event) {
  const Json* delta = event.find("delta");
  if (delta == nullptr) return;
  int64_t index = event.integer_or("index", -1);
  std::string_view type = delta->text_or("type");
  if (type == "text_delta") {
    add_text(TextChannel::answer, delta->text_or("text"));
  } else if (type == "thinking_delta") {
    add_text(TextChannel::thinking, delta->text_or("thinking"));
    add_to_block(index, "thinking", delta->text_or("thinking"));
  } else if (type == "signature_delta") {
    add_to_block(index, "signature", delta->text_or("signature"));
  } else if (type == "input_json_delta") {
    auto call = calls_.find(index);
    if (call != calls_.end()) add_arguments(call->second, delta->text_or("partial_json"));
  }
}

void AnthropicReader::add_to_block(int64_t index, std::string_view name, std::string_view piece) {
  auto found = blocks_.find(index);
  if (found == blocks_.end() || !count_opaque(piece.size())) return;
  std::string text =
      whole_characters(own_texts_stream - static_cast<int64_t>(found->second.place), piece);
  for (auto& [member, value] : found->second.members) {
    if (member != name || value.as_text() == nullptr) continue;
    *value.as_text() += text;
    return;
  }
  found->second.members.emplace_back(name, Json(std::move(text)));
}

// A block whose end never came is incomplete: the provider would refuse it.
void AnthropicReader::close_block(int64_t index) {
  auto found = blocks_.find(index);
  if (found == blocks_.end()) return;
  block_at(found->second.place).data = Json(std::move(found->second.members)).dump();
  blocks_.erase(found);
}

// Servers that speak like Anthropic forget to close blocks: one that is signed is whole.
void AnthropicReader::finish_held() {
  std::vector<int64_t> whole;
  for (const auto& [index, block] : blocks_) {
    bool is_signed =
        std::any_of(block.members.begin(), block.members.end(), [](const auto& member) {
          bool is_proof = member.first == "signature" || member.first == "data";
          return is_proof && member.second.is_text() && !member.second.as_text()->empty();
        });
    if (is_signed) whole.push_back(index);
  }
  for (int64_t index : whole) close_block(index);
}

void AnthropicReader::finish_by(const Json& holder) {
  std::string_view reason = holder.text_or("stop_reason");
  if (!reason.empty()) finish_with(reason);
}

// message_start counts the input, message_delta the whole output; either may repeat the other's.
// Their input_tokens leave out what the cache gave or took; ours hold everything.
void AnthropicReader::take_usage(const Json& holder, bool is_final) {
  const Json* tokens = holder.find("usage");
  if (tokens == nullptr || !tokens->is_object()) return;
  if (!are_counts(*tokens, {"input_tokens", "output_tokens", "cache_read_input_tokens",
                            "cache_creation_input_tokens"})) {
    return;
  }
  ModelUsage counted = usage();
  if (tokens->find("input_tokens") != nullptr) {
    counted.cache_read_tokens = tokens_in(*tokens, "cache_read_input_tokens");
    counted.cache_write_tokens = tokens_in(*tokens, "cache_creation_input_tokens");
    counted.input_tokens =
        tokens_in(*tokens, "input_tokens") + counted.cache_read_tokens + counted.cache_write_tokens;
  }
  counted.measured = is_final;
  if (is_final) counted.output_tokens = tokens_in(*tokens, "output_tokens", counted.output_tokens);
  set_usage(counted);
}

}  // namespace hostler
