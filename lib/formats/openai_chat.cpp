// See lib/formats/openai_chat.h. The shapes are those of OpenAI's reference, "Chat completions".
#include "lib/formats/openai_chat.h"
#include "lib/events/turn_separator.h"

#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/formats/answer_cut.h"
#include "lib/formats/growing_text.h"
#include "lib/formats/openai_error.h"
#include "lib/json.h"
#include "lib/time_text.h"

namespace hostler::formats {
namespace {

struct Call {
  std::string id;
  std::string name;
  std::string arguments;  // text, as the model wrote it
};
using Calls = std::vector<Call>;

Calls calls_in(const Json& data) {
  Calls calls;
  const Json* listed = data.find("calls");
  if (listed == nullptr || listed->as_array() == nullptr) return calls;
  for (const Json& each : *listed->as_array()) {
    const Json* arguments = each.find("arguments");
    std::string text = "{}";
    if (arguments != nullptr)
      text = arguments->is_text() ? *arguments->as_text() : arguments->dump();
    calls.push_back({std::string(each.text_or("tool_call_id")),
                     std::string(each.text_or("tool_name")), std::move(text)});
  }
  return calls;
}

void write_call(const Call& call, JsonWriter& json) {
  json.member("id", call.id).member("type", "function").key("function").begin_object();
  json.member("name", call.name).member("arguments", call.arguments).end_object();
}

// Converts run_usage() into OpenAI's words.
std::string usage_json(std::string_view stored) {
  std::optional<Json> usage = parse_json_or_nothing(stored);
  if (!usage) usage = Json(Json::Object());
  int64_t input = usage->integer_or("input_tokens", 0);
  int64_t output = usage->integer_or("output_tokens", 0);
  JsonWriter json;
  json.begin_object().member("prompt_tokens", input).member("completion_tokens", output);
  json.member("total_tokens", input + output).key("prompt_tokens_details").begin_object();
  json.member("cached_tokens", usage->integer_or("cache_read_tokens", 0));
  json.member("cache_write_tokens", usage->integer_or("cache_write_tokens", 0)).end_object();
  json.end_object();
  return json.take();
}

// Name that the client gave the model, if it is stored: for a route, because the run then has the
// name of a persona. Empty if it is not stored.
std::string model_in(std::string_view client_facts) {
  std::optional<Json> facts = parse_json_or_nothing(client_facts);
  return facts ? std::string(facts->text_or("model")) : "";
}

// Part that is the same in all forms: what the run's events mean for its one message.
class OpenaiChat : public Encoder {
 public:
  explicit OpenaiChat(const RunFacts& run)
      : run_id_(run.run_id), model_(model_in(run.client_facts)) {}

  bool append(const events::EventView& event, std::string& out) final {
    if (!head_) begin(event, out);
    std::optional<Json> data = parse_json_or_nothing(event.data_json);
    if (!data) data = Json(Json::Object());
    if (event.type == "message.delta") {
      last_delta_seq_ = event.seq;
      bool is_thought = data->text_or("channel") == "thinking";
      add_text(data->text_or("content"), is_thought, out);
    } else if (event.type == "tool.call" || event.type == "tool.result") {
      turn_ended();
    } else if (event.type == "run.tool_calls") {
      calls_ = std::make_shared<const Calls>(calls_in(*data));
    } else if (event.type == "run.output") {
      add_output(out);
    } else if (events::is_voiding_event(event.type)) {
      bool is_voided = last_delta_seq_ > data->integer_or("discard_after_seq", 0);
      return is_voided && take_back(event.type, out);
    } else if (event.type == "output.cut") {
      cut_ = cut_of(*data);
    } else if (event.type == "run.completed") {
      complete(event.usage_json, out);
    } else if (event.type == "run.failed") {
      std::string_view code = data->text_or("code");
      fail(openai_failure_status(code), code, data->text_or("message"), out);
    } else if (event.type == "run.cancelled") {
      fail(409, "run.cancelled", "The run was cancelled.", out);
    }
    return events::is_terminal_event(event.type);
  }

 protected:
  virtual std::string_view object() const = 0;
  virtual void started(std::string&) {}
  virtual void add_text(std::string_view text, bool is_thought, std::string& out) = 0;
  virtual void turn_ended() {}
  // The text of the last turn is the answer.
  virtual void add_output(std::string&) {}
  // Discards the text since the turn began. cause: type of the event that voids it. Returns true
  // if that is not possible.
  virtual bool take_back(std::string_view cause, std::string& out) = 0;
  virtual void complete(std::string_view usage, std::string& out) = 0;
  virtual void fail(int status, std::string_view code, std::string_view message,
                    std::string& out) = 0;

  // The members that every object of the answer begins with.
  const std::string& head() const { return *head_; }
  const Calls* calls() const { return calls_.get(); }
  std::string_view finish_reason() const {
    if (calls_) return "tool_calls";
    return cut_ == Cut::none ? "stop" : cut_ == Cut::length ? "length" : "content_filter";
  }

 private:
  // With the run's first event: run.started, unless the run ended before it was begun.
  void begin(const events::EventView& event, std::string& out) {
    std::optional<Json> data = parse_json_or_nothing(event.data_json);
    std::string_view model = model_;
    if (model.empty() && data) model = data->text_or("persona_id");
    if (model.empty() && data) model = data->text_or("model");
    JsonWriter json;
    json.begin_object().member("id", "chatcmpl-" + run_id_).member("object", object());
    json.member("created", parse_rfc3339(event.created_at).value_or(0) / 1000);
    json.member("model", model);
    head_ = std::make_shared<const std::string>(json.take());
    started(out);
  }

  std::string run_id_;
  std::string model_;
  std::shared_ptr<const std::string> head_;
  std::shared_ptr<const Calls> calls_;
  int64_t last_delta_seq_ = 0;
  Cut cut_ = Cut::none;
};

// A stream: each piece of text as it comes.
class Chunks : public OpenaiChat {
 public:
  Chunks(const RunFacts& run, bool has_usage) : OpenaiChat(run), has_usage_(has_usage) {}
  std::shared_ptr<Encoder> copy() const override { return std::make_shared<Chunks>(*this); }

 protected:
  std::string_view object() const final { return "chat.completion.chunk"; }
  void started(std::string& out) final {
    chunk(R"({"role":"assistant","content":"","refusal":null})", "", out);
  }
  void add_text(std::string_view text, bool is_thought, std::string& out) override {
    std::string_view member = is_thought ? "reasoning_content" : "content";
    chunk(fmt::format("{{\"{}\":{}}}", member, json_quote(text)), "", out);
  }
  bool take_back(std::string_view cause, std::string& out) override {
    std::string_view code = cause == "run.fell_back" ? cause : "run.resumed";
    fail(500, code, "A part of the answer that was already sent is made again.", out);
    return true;
  }
  void complete(std::string_view usage, std::string& out) final {
    if (calls() != nullptr) append_calls(*calls(), out);
    chunk("{}", finish_reason(), out);
    if (has_usage_) {
      fmt::format_to(std::back_inserter(out), "data: {},\"choices\":[],\"usage\":{}}}\n\n", head(),
                     usage_json(usage));
    }
    out += "data: [DONE]\n\n";
  }
  void fail(int status, std::string_view code, std::string_view message, std::string& out) final {
    out.append("data: ").append(openai_error(status, code, message)).append("\n\n");
  }

 private:
  void chunk(std::string_view delta, std::string_view reason, std::string& out) const {
    out.append("data: ").append(head());
    out.append(R"(,"choices":[{"index":0,"delta":)").append(delta);
    out.append(R"(,"logprobs":null,"finish_reason":)");
    if (reason.empty()) {
      out.append("null");
    } else {
      out.append("\"").append(reason).append("\"");
    }
    out.append(has_usage_ ? "}],\"usage\":null}\n\n" : "}]}\n\n");
  }
  void append_calls(const Calls& calls, std::string& out) const {
    int64_t index = 0;
    for (const Call& call : calls) {
      JsonWriter json;
      json.begin_object().key("tool_calls").begin_array();
      json.begin_object().member("index", index++);
      write_call(call, json);
      json.end_object().end_array().end_object();
      chunk(json.take(), "", out);
    }
  }

  bool has_usage_;
};

// A stream whose text is checked before it is sent.
class CheckedChunks final : public Chunks {
 public:
  using Chunks::Chunks;
  std::shared_ptr<Encoder> copy() const override { return std::make_shared<CheckedChunks>(*this); }

 protected:
  void add_text(std::string_view text, bool is_thought, std::string& out) override {
    if (is_thought) {
      Chunks::add_text(text, true, out);
    } else if (turn_text_.size() > 0 || text != events::turn_separator) {
      turn_text_.append(text);
    }
  }
  void turn_ended() override { turn_text_ = {}; }
  void add_output(std::string& out) override { Chunks::add_text(turn_text_.view(), false, out); }
  bool take_back(std::string_view, std::string&) override {
    turn_text_ = {};
    return false;
  }

 private:
  GrowingText turn_text_;
};

// The whole message at the end.
class Whole final : public OpenaiChat {
 public:
  explicit Whole(const RunFacts& run) : OpenaiChat(run) {
    if (!run.is_checked) answer_begin_ = 0;
  }
  std::shared_ptr<Encoder> copy() const override { return std::make_shared<Whole>(*this); }
  int status() const override { return status_; }
  bool may_be_repeated() const override { return may_be_repeated_; }

 protected:
  std::string_view object() const override { return "chat.completion"; }
  void add_text(std::string_view text, bool is_thought, std::string&) override {
    (is_thought ? thoughts_ : text_).append(text);
  }
  void turn_ended() override { turn_begin_ = {text_.size(), thoughts_.size()}; }
  void add_output(std::string&) override { answer_begin_ = turn_begin_.first; }
  bool take_back(std::string_view, std::string&) override {
    text_.cut(turn_begin_.first);
    thoughts_.cut(turn_begin_.second);
    return false;
  }
  void complete(std::string_view usage, std::string& out) override {
    std::string_view text;
    if (answer_begin_) text = text_.view().substr(*answer_begin_);
    // The text of only the last turn begins without the separator from earlier ones.
    bool follows = answer_begin_.value_or(0) > 0 && text.starts_with(events::turn_separator);
    if (follows) text.remove_prefix(events::turn_separator.size());
    JsonWriter json;
    json.begin_object().member("role", "assistant");
    if (text.empty() && calls() != nullptr) {
      json.key("content").null();
    } else {
      json.member("content", text);
    }
    json.key("refusal").null();
    if (thoughts_.size() > 0) json.member("reasoning_content", thoughts_.view());
    if (calls() != nullptr) write_calls(*calls(), json);
    json.end_object();
    fmt::format_to(std::back_inserter(out),
                   R"({},"choices":[{{"index":0,"message":{},"logprobs":null,)"
                   R"("finish_reason":"{}"}}],"usage":{}}})",
                   head(), json.so_far(), finish_reason(), usage_json(usage));
  }
  void fail(int status, std::string_view code, std::string_view message,
            std::string& out) override {
    status_ = status;
    may_be_repeated_ = may_repeat_openai_failure(code);
    out += openai_error(status, code, message);
  }

 private:
  static void write_calls(const Calls& calls, JsonWriter& json) {
    json.key("tool_calls").begin_array();
    for (const Call& call : calls) {
      json.begin_object();
      write_call(call, json);
      json.end_object();
    }
    json.end_array();
  }

  GrowingText text_;
  GrowingText thoughts_;
  std::pair<size_t, size_t> turn_begin_;  // in both
  std::optional<size_t> answer_begin_;    // nothing: it was not checked, and does not count
  int status_ = 200;
  bool may_be_repeated_ = false;
};

EncoderState begin_chunks(const RunFacts& run, bool has_usage) {
  if (run.is_checked) return std::make_shared<const CheckedChunks>(run, has_usage);
  return std::make_shared<const Chunks>(run, has_usage);
}

}  // namespace

EncoderState begin_openai_chat(const RunFacts& run) { return begin_chunks(run, false); }
EncoderState begin_openai_chat_usage(const RunFacts& run) { return begin_chunks(run, true); }
EncoderState begin_openai_chat_whole(const RunFacts& run) {
  return std::make_shared<const Whole>(run);
}

}  // namespace hostler::formats
