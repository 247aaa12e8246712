// The OpenAI Chat Completions wire form: SSE chunks as the API sends them, or one JSON document.
#include <array>
#include <utility>

#include "dev/fake-model/chat.h"
#include "dev/fake-model/chat_checks.h"
#include "dev/fake-model/odd_stream.h"
#include "dev/fake-model/openai_request.h"
#include "dev/fake-model/own_members.h"
#include "lib/crypto.h"
#include "lib/time_text.h"

namespace hostler::fake_model {
namespace {

std::string_view finish_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop:
      return "stop";
    case FinishReason::tool_calls:
      return "tool_calls";
    case FinishReason::length:
      return "length";
    case FinishReason::content_filter:
      return "content_filter";
  }
  return "stop";
}

// Some servers write whole numbers as floats.
std::string usage_as_floats(const Usage& usage) {
  return "{\"prompt_tokens\":" + std::to_string(usage.input_tokens) +
         ".0,\"completion_tokens\":" + std::to_string(usage.output_tokens) +
         ".0,\"total_tokens\":" + std::to_string(usage.input_tokens + usage.output_tokens) + ".0}";
}

std::string usage_json(const Usage& usage) {
  JsonWriter writer;
  writer.begin_object();
  writer.member("prompt_tokens", usage.input_tokens);
  writer.member("completion_tokens", usage.output_tokens);
  writer.member("total_tokens", usage.input_tokens + usage.output_tokens);
  writer.key("prompt_tokens_details").begin_object();
  writer.member("cached_tokens", usage.cached_tokens).member("audio_tokens", 0).end_object();
  writer.key("completion_tokens_details").begin_object();
  writer.member("reasoning_tokens", 0).member("audio_tokens", 0);
  writer.member("accepted_prediction_tokens", 0).member("rejected_prediction_tokens", 0);
  writer.end_object().end_object();
  return writer.take();
}

// Appends `"name":"value"`-like members without a JsonWriter: these run for every word.
class OpenAiStream final : public AnswerForm {
 public:
  explicit OpenAiStream(const ChatRequest& request) : include_usage_(request.include_usage) {
    JsonWriter writer;
    writer.begin_object();
    writer.member("id", fake_id("chatcmpl-", request.conversation, 0));
    writer.member("object", "chat.completion.chunk");
    writer.member("created", unix_now_ms() / 1000);
    writer.member("model", request.model);
    writer.member("service_tier", "default");
    writer.member("system_fingerprint", "fp_fake_model");
    prefix_ = "data: " + writer.take();  // without the closing brace
    delta_prefix_ = prefix_ + R"(,"choices":[{"index":0,"delta":{)";
    delta_suffix_ = R"(},"logprobs":null,"finish_reason":null}])";
    delta_suffix_ += include_usage_ ? ",\"usage\":null}\n\n" : "}\n\n";
  }

  void open(std::string& out, const std::optional<Usage>& usage_so_far) override {
    if (habits_.usage_place == "each" && usage_so_far) {
      delta_suffix_ = R"(},"logprobs":null,"finish_reason":null}],"usage":)";
      delta_suffix_ += usage_json(*usage_so_far) + "}\n\n";
    }
    delta(out, R"("role":"assistant","content":"","refusal":null)");
  }
  void text(std::string& out, std::string_view piece) override {
    delta_quoted(out, R"("content":)", piece, "");
  }
  void thinking(std::string& out, std::string_view piece) override {
    delta_quoted(out, R"("reasoning_content":)", piece, "");
  }
  std::string_view call_id_prefix() const override { return "call_"; }
  void begin_tool_call(std::string& out, const ToolCall& call) override {
    ++calls_;
    delta(out, R"("tool_calls":[{"index":)" + std::to_string(calls_ - 1) + R"(,"id":)" +
                   json_quote(call.id) + R"(,"type":"function","function":{"name":)" +
                   json_quote(call.name) + R"(,"arguments":""})" + std::exchange(call_data_, {}) +
                   "}]");
  }
  void tool_arguments(std::string& out, std::string_view piece) override {
    delta_quoted(
        out,
        R"("tool_calls":[{"index":)" + std::to_string(calls_ - 1) + R"(,"function":{"arguments":)",
        piece, "}}]");
  }
  void close(std::string& out, FinishReason reason, const std::optional<Usage>& usage) override {
    if (habits_.end.empty()) finish(out, reason, usage);
    if (habits_.end != "bare") out += "data: [DONE]\n\n";
    if (habits_.usage_place == "late" && usage) write_usage(out, usage_json(*usage));
  }
  void error(std::string& out) override {
    out += R"(data: {"error":{"message":"The server had an error while processing your request.",)";
    out += "\"type\":\"server_error\",\"param\":null,\"code\":null}}\n\n";
  }
  void garbage_event(std::string& out, std::string_view garbage) override {
    out += "data: " + std::string(garbage) + "\n\n";
  }
  void half_event(std::string& out) override { out += prefix_ + R"(,"choices":[{"index":0,"del)"; }
  void raw_text(std::string& out, std::string_view piece) override {
    delta(out, "\"content\":\"" + std::string(piece) + "\"");
  }
  void own_members(std::string& out, std::string_view form, std::string_view value) override {
    if (form == "extra_content") {
      call_data_ = "," + openai_own_members(form, value);
    } else {
      delta(out, openai_own_members(form, value));
    }
  }
  bool odd_calls(std::string& out, std::string_view habit,
                 const std::vector<ToolCall>& calls) override {
    for (const std::string& members : odd_call_deltas(habit, calls)) delta(out, members);
    return true;
  }

 private:
  void finish(std::string& out, FinishReason reason, const std::optional<Usage>& usage) const {
    std::string_view place = habits_.usage_place;
    std::string word = habits_.finish_word;
    if (word.empty()) word = finish_name(reason);
    std::string tokens = usage ? usage_json(*usage) : "null";
    out += prefix_ + R"(,"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":)";
    out += json_quote(word);
    if (place == "choice") out += ",\"usage\":" + tokens;
    out += "}]";
    if (place == "groq") out += R"(,"x_groq":{"id":"req_fake","usage":)" + tokens + "}";
    out += include_usage_ ? ",\"usage\":null}\n\n" : "}\n\n";
    if (!usage) return;
    if (place == "floats") write_usage(out, usage_as_floats(*usage));
    if (place == "each" || (place.empty() && include_usage_)) write_usage(out, tokens);
  }
  void write_usage(std::string& out, std::string_view tokens) const {
    out += prefix_ + R"(,"choices":[],"usage":)" + std::string(tokens) + "}\n\n";
  }
  void delta(std::string& out, std::string_view members) const {
    out += delta_prefix_;
    out += members;
    out += delta_suffix_;
  }
  void delta_quoted(std::string& out, std::string_view name, std::string_view value,
                    std::string_view end) const {
    out += delta_prefix_;
    out += name;
    out += json_quote(value);
    out += end;
    out += delta_suffix_;
  }

  bool include_usage_;
  int64_t calls_ = 0;
  std::string call_data_;  // of the provider's own, for the next call
  std::string prefix_;
  std::string delta_prefix_;
  std::string delta_suffix_;
};

class OpenAiDocument final : public AnswerForm {
 public:
  explicit OpenAiDocument(const ChatRequest& request)
      : id_(fake_id("chatcmpl-", request.conversation, 0)), model_(request.model) {}

  void open(std::string&, const std::optional<Usage>&) override {}
  void text(std::string&, std::string_view piece) override { text_ += piece; }
  void thinking(std::string&, std::string_view piece) override { thinking_ += piece; }
  std::string_view call_id_prefix() const override { return "call_"; }
  void begin_tool_call(std::string&, const ToolCall& call) override {
    calls_.push_back({call.id, call.name, {}});
  }
  void tool_arguments(std::string&, std::string_view piece) override {
    calls_.back().arguments += piece;
  }
  void close(std::string& out, FinishReason reason, const std::optional<Usage>& usage) override {
    JsonWriter writer;
    writer.begin_object().member("id", id_).member("object", "chat.completion");
    writer.member("created", unix_now_ms() / 1000).member("model", model_);
    writer.key("choices").begin_array().begin_object().member("index", 0);
    write_message(writer);
    writer.key("logprobs").null().member("finish_reason", finish_name(reason));
    writer.end_object().end_array();
    if (usage) writer.member_raw("usage", usage_json(*usage));
    writer.member("service_tier", "default").member("system_fingerprint", "fp_fake_model");
    writer.end_object();
    out += writer.take();
  }
  void error(std::string&) override {}
  void half_event(std::string&) override {}
  void garbage_event(std::string&, std::string_view) override {}
  void own_members(std::string&, std::string_view form, std::string_view value) override {
    if (form == "thought") return;  // it has no place beside a text
    std::optional<Json> members =
        parse_json_or_nothing("{" + openai_own_members(form, value) + "}");
    for (auto& [name, data] : *members->as_object()) {
      (form == "extra_content" ? call_data_ : data_).emplace_back(name, std::move(data));
    }
  }

 private:
  void write_message(JsonWriter& writer) const {
    writer.key("message").begin_object().member("role", "assistant").key("content");
    if (text_.empty() && !calls_.empty()) {
      writer.null();
    } else {
      writer.text(text_);
    }
    if (!thinking_.empty()) writer.member("reasoning_content", thinking_);
    if (!calls_.empty()) {
      writer.key("tool_calls").begin_array();
      for (const ToolCall& call : calls_) {
        writer.begin_object().member("id", call.id).member("type", "function");
        writer.key("function").begin_object().member("name", call.name);
        writer.member("arguments", call.arguments).end_object();
        if (&call == &calls_.front()) {
          for (const auto& [name, data] : call_data_) writer.key(name).value(data);
        }
        writer.end_object();
      }
      writer.end_array();
    }
    for (const auto& [name, data] : data_) writer.key(name).value(data);
    writer.key("refusal").null().end_object();
  }

  std::string id_;
  std::string model_;
  std::string text_;
  std::string thinking_;
  Json::Object data_;  // of the provider's own, and what the first call has of it
  Json::Object call_data_;
  std::vector<ToolCall> calls_;
};

class OpenAiForm final : public WireForm {
 public:
  std::optional<Refusal> refuse_key(const HttpRequest& request,
                                    std::string_view key) const override {
    std::optional<std::string_view> given = request.field("authorization");
    if (given && equal_in_constant_time(*given, "Bearer " + std::string(key))) return std::nullopt;
    Refusal refusal = refused(given ? "Incorrect API key provided."
                                    : "You didn't provide an API key. You need to provide your "
                                      "API key in an Authorization header using Bearer auth.");
    refusal.status = 401;
    return refusal;
  }
  std::variant<ChatRequest, Refusal> read(const Json& body) const override {
    return read_openai_request(body);
  }
  std::string error_document(const Refusal& refusal) const override {
    JsonWriter writer;
    writer.begin_object().key("error").begin_object().member("message", refusal.message);
    writer.member("type", refusal.status < 500 ? "invalid_request_error" : "server_error");
    writer.key("param").null().key("code");
    if (refusal.status == 401) {
      writer.text("invalid_api_key");
    } else if (refusal.status == 429) {
      writer.text("rate_limit_exceeded");
    } else {
      writer.null();
    }
    writer.end_object().end_object();
    return writer.take();
  }
  std::unique_ptr<AnswerForm> answer(const ChatRequest& request) const override {
    if (request.stream) return std::make_unique<OpenAiStream>(request);
    return std::make_unique<OpenAiDocument>(request);
  }
};

}  // namespace

std::unique_ptr<WireForm> make_openai_form() { return std::make_unique<OpenAiForm>(); }

}  // namespace hostler::fake_model
