// The Anthropic Messages wire form: named SSE events with content blocks, or one JSON document.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dev/fake-model/anthropic_request.h"
#include "dev/fake-model/chat.h"
#include "dev/fake-model/chat_checks.h"
#include "lib/crypto.h"

namespace hostler::fake_model {
namespace {

enum class BlockKind { none, text, thinking, redacted_thinking, tool_use };

constexpr std::string_view plain_signature = "c3RhbmQtaW4tc2lnbmF0dXJl";

std::string_view stop_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop:
      return "end_turn";
    case FinishReason::tool_calls:
      return "tool_use";
    case FinishReason::length:
      return "max_tokens";
    case FinishReason::content_filter:
      return "refusal";
  }
  return "end_turn";
}

std::string_view error_name(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 529:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

// Here input_tokens counts what came neither from the cache nor went into it.
std::string usage_json(const Usage& usage) {
  int64_t plain = usage.input_tokens - usage.cached_tokens - usage.written_tokens;
  JsonWriter writer;
  writer.begin_object().member("input_tokens", std::max<int64_t>(plain, 0));
  writer.member("cache_creation_input_tokens", usage.written_tokens);
  writer.member("cache_read_input_tokens", usage.cached_tokens);
  writer.member("output_tokens", usage.output_tokens).member("service_tier", "standard");
  writer.end_object();
  return writer.take();
}

void write_message_head(JsonWriter& writer, const ChatRequest& request) {
  writer.member("id", fake_id("msg_", request.conversation, 0)).member("type", "message");
  writer.member("role", "assistant").member("model", request.model);
}

class AnthropicStream final : public AnswerForm {
 public:
  explicit AnthropicStream(const ChatRequest& request) {
    JsonWriter writer;
    writer.begin_object().member("type", "message_start").key("message").begin_object();
    write_message_head(writer, request);
    writer.key("content").begin_array().end_array();
    writer.key("stop_reason").null().key("stop_sequence").null();
    head_ = writer.take();  // both objects stay open for the usage
  }

  void open(std::string& out, const std::optional<Usage>& usage_so_far) override {
    std::string head = std::exchange(head_, {});
    if (usage_so_far) head += ",\"usage\":" + usage_json(*usage_so_far);
    event(out, "message_start", head + "}}");
    event(out, "ping", R"({"type":"ping"})");
  }
  void text(std::string& out, std::string_view piece) override {
    turn_to(out, BlockKind::text, R"({"type":"text","text":""})");
    delta(out, R"({"type":"text_delta","text":)", piece);
  }
  void thinking(std::string& out, std::string_view piece) override {
    turn_to(out, BlockKind::thinking, R"({"type":"thinking","thinking":"","signature":""})");
    delta(out, R"({"type":"thinking_delta","thinking":)", piece);
  }
  std::string_view call_id_prefix() const override { return "toolu_"; }
  void begin_tool_call(std::string& out, const ToolCall& call) override {
    end_block(out);
    turn_to(out, BlockKind::tool_use,
            R"({"type":"tool_use","id":)" + json_quote(call.id) +
                ",\"name\":" + json_quote(call.name) + ",\"input\":{}}");
    delta(out, R"({"type":"input_json_delta","partial_json":)", "");
  }
  void tool_arguments(std::string& out, std::string_view piece) override {
    delta(out, R"({"type":"input_json_delta","partial_json":)", piece);
  }
  void close(std::string& out, FinishReason reason, const std::optional<Usage>& usage) override {
    if (habits_.end == "bare") return;
    end_block(out);
    std::string word = habits_.finish_word;
    if (word.empty()) word = stop_name(reason);
    std::string end = R"({"type":"message_delta","delta":{"stop_reason":)" + json_quote(word);
    end += R"(,"stop_sequence":null})";
    if (usage) end += ",\"usage\":" + usage_json(*usage);
    if (habits_.end.empty()) event(out, "message_delta", end + "}");
    event(out, "message_stop", R"({"type":"message_stop"})");
  }
  void error(std::string& out) override {
    event(out, "error",
          R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})");
  }
  void garbage_event(std::string& out, std::string_view garbage) override {
    event(out, "content_block_delta", garbage);
  }
  void raw_text(std::string& out, std::string_view piece) override {
    turn_to(out, BlockKind::text, R"({"type":"text","text":""})");
    out += delta_prefix_ + R"({"type":"text_delta","text":")";
    out += piece;
    out += "\"}}\n\n";
  }
  void own_members(std::string& out, std::string_view form, std::string_view value) override {
    end_block(out);
    if (form == "redacted_thinking") {
      turn_to(out, BlockKind::redacted_thinking,
              R"({"type":"redacted_thinking","data":)" + json_quote(value) + "}");
    } else if (form == "thinking") {
      thinking(out, "I look it up.");
      signature_ = value;
    }
  }
  void half_event(std::string& out) override {
    out += "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"ind";
  }

 private:
  static void event(std::string& out, std::string_view name, std::string_view json) {
    out += "event: ";
    out += name;
    out += "\ndata: ";
    out += json;
    out += "\n\n";
  }
  void delta(std::string& out, std::string_view begin, std::string_view value) const {
    out += delta_prefix_;
    out += begin;
    out += json_quote(value);
    out += "}}\n\n";
  }
  void turn_to(std::string& out, BlockKind kind, std::string_view block) {
    if (kind == kind_) return;
    end_block(out);
    kind_ = kind;
    event(out, "content_block_start",
          R"({"type":"content_block_start","index":)" + std::to_string(index_) +
              ",\"content_block\":" + std::string(block) + "}");
    delta_prefix_ =
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":" +
        std::to_string(index_) + ",\"delta\":";
  }
  void end_block(std::string& out) {
    if (kind_ == BlockKind::none) return;
    if (kind_ == BlockKind::thinking) {
      delta(out, R"({"type":"signature_delta","signature":)", signature_);
      signature_ = plain_signature;
    }
    event(out, "content_block_stop",
          R"({"type":"content_block_stop","index":)" + std::to_string(index_) + "}");
    ++index_;
    kind_ = BlockKind::none;
  }

  std::string head_;
  std::string signature_{plain_signature};  // of the thoughts that are being written
  BlockKind kind_ = BlockKind::none;
  int64_t index_ = 0;
  std::string delta_prefix_;
};

class AnthropicDocument final : public AnswerForm {
 public:
  explicit AnthropicDocument(const ChatRequest& request) : request_(request) {}

  void open(std::string&, const std::optional<Usage>&) override {}
  void text(std::string&, std::string_view piece) override { block(BlockKind::text) += piece; }
  void thinking(std::string&, std::string_view piece) override {
    block(BlockKind::thinking) += piece;
  }
  std::string_view call_id_prefix() const override { return "toolu_"; }
  void begin_tool_call(std::string&, const ToolCall& call) override {
    blocks_.push_back({BlockKind::tool_use, {call.id, call.name, {}}});
  }
  void tool_arguments(std::string&, std::string_view piece) override {
    blocks_.back().call.arguments += piece;
  }
  void close(std::string& out, FinishReason reason, const std::optional<Usage>& usage) override {
    JsonWriter writer;
    writer.begin_object();
    write_message_head(writer, request_);
    writer.key("content").begin_array();
    for (const Block& block : blocks_) write_block(writer, block);
    writer.end_array().member("stop_reason", stop_name(reason)).key("stop_sequence").null();
    if (usage) writer.member_raw("usage", usage_json(*usage));
    writer.end_object();
    out += writer.take();
  }
  void own_members(std::string&, std::string_view form, std::string_view value) override {
    if (form != "thinking" && form != "redacted_thinking") return;
    bool is_plain = form == "thinking";
    Block& block =
        blocks_.emplace_back(Block{is_plain ? BlockKind::thinking : BlockKind::redacted_thinking});
    if (is_plain) block.text = "I look it up.";
    block.signature = value;
  }
  void error(std::string&) override {}
  void half_event(std::string&) override {}
  void garbage_event(std::string&, std::string_view) override {}

 private:
  struct Block {
    BlockKind kind;
    ToolCall call = {};
    std::string text = {};
    std::string signature{plain_signature};  // or what is redacted
  };

  std::string& block(BlockKind kind) {
    if (blocks_.empty() || blocks_.back().kind != kind) blocks_.push_back({kind});
    return blocks_.back().text;
  }
  static void write_block(JsonWriter& writer, const Block& block) {
    writer.begin_object();
    if (block.kind == BlockKind::text) writer.member("type", "text").member("text", block.text);
    if (block.kind == BlockKind::thinking) {
      writer.member("type", "thinking").member("thinking", block.text);
      writer.member("signature", block.signature);
    }
    if (block.kind == BlockKind::redacted_thinking) {
      writer.member("type", "redacted_thinking").member("data", block.signature);
    }
    if (block.kind == BlockKind::tool_use) {
      writer.member("type", "tool_use").member("id", block.call.id);
      writer.member("name", block.call.name).key("input");
      // Broken arguments cannot stand in a document as they are: they stand there as a text.
      std::optional<Json> input = parse_json_or_nothing(block.call.arguments);
      input ? writer.value(*input) : writer.text(block.call.arguments);
    }
    writer.end_object();
  }

  ChatRequest request_;
  std::vector<Block> blocks_;
};

class AnthropicForm final : public WireForm {
 public:
  std::optional<Refusal> refuse_key(const HttpRequest& request,
                                    std::string_view key) const override {
    // Older clients send the key in x-api-key, newer ones as a bearer token.
    std::optional<std::string_view> given = request.field("x-api-key");
    std::optional<std::string_view> bearer = request.field("authorization");
    bool fits = (given && equal_in_constant_time(*given, key)) ||
                (bearer && equal_in_constant_time(*bearer, "Bearer " + std::string(key)));
    if (!fits) {
      Refusal refusal =
          refused(given || bearer ? "invalid x-api-key" : "x-api-key header is required");
      refusal.status = 401;
      return refusal;
    }
    if (!request.field("anthropic-version")) {
      return refused("anthropic-version: header is required");
    }
    return std::nullopt;
  }
  std::variant<ChatRequest, Refusal> read(const Json& body) const override {
    return read_anthropic_request(body);
  }
  std::string error_document(const Refusal& refusal) const override {
    JsonWriter writer;
    writer.begin_object().member("type", "error").key("error").begin_object();
    writer.member("type", error_name(refusal.status)).member("message", refusal.message);
    writer.end_object().member("request_id", "req_fake_model").end_object();
    return writer.take();
  }
  std::unique_ptr<AnswerForm> answer(const ChatRequest& request) const override {
    if (request.stream) return std::make_unique<AnthropicStream>(request);
    return std::make_unique<AnthropicDocument>(request);
  }
};

}  // namespace

std::unique_ptr<WireForm> make_anthropic_form() { return std::make_unique<AnthropicForm>(); }

}  // namespace hostler::fake_model
