// See lib/formats/openai_response.h. The shapes are those of OpenAI's reference, "Responses"; the
// document of Open Responses wants [DONE] at the end.
#include "lib/formats/openai_response.h"
#include "lib/events/turn_separator.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lib/formats/answer_cut.h"
#include "lib/formats/formats.h"
#include "lib/formats/growing_text.h"
#include "lib/formats/openai_error.h"
#include "lib/formats/openai_response_object.h"
#include "lib/json.h"
#include "lib/time_text.h"

namespace hostler::formats {
namespace {

enum class Answer : uint8_t { stream, whole, stored };
enum class Item : uint8_t { none, message, reasoning };

// Part that is the same in all forms: which items the run's events make.
class OpenaiResponse : public Encoder {
 public:
  OpenaiResponse(const RunFacts& run, Answer answer)
      : run_id_(run.run_id),
        facts_(std::make_shared<const std::string>(run.client_facts)),
        answer_(answer),
        is_checked_(run.is_checked) {}

  std::shared_ptr<Encoder> copy() const override { return std::make_shared<OpenaiResponse>(*this); }
  int status() const override { return status_; }
  bool may_be_repeated() const override { return may_be_repeated_; }
  size_t kept_bytes() const override {
    return facts_->size() + output_.size() + text_.size() + unchecked_.size();
  }

  bool append(const events::EventView& event, std::string& out) override {
    Frame to{event, out};
    if (!has_begun_) begin(to);
    if (event.type == "message.delta") {
      take_delta(read(event), to);
    } else if (event.type == "tool.call" || event.type == "tool.result") {
      end_turn(to);
    } else if (event.type == "run.tool_calls") {
      end_turn(to);
      add_calls(read(event), to);
    } else if (event.type == "run.output") {
      add_output(to);
    } else if (events::is_voiding_event(event.type)) {
      bool is_voided = last_delta_seq_ > read(event).integer_or("discard_after_seq", 0);
      if (is_voided) take_back(to);
    } else if (event.type == "output.cut") {
      cut_ = cut_of(read(event));
    } else if (event.type == "run.completed") {
      complete(to);
    } else if (event.type == "run.failed") {
      fail(read(event), to);
    } else if (event.type == "run.cancelled") {
      close("incomplete", to);
      // There is no event of this name; clients take it for what it holds.
      end("response.incomplete", {.status = "cancelled"}, to);
    }
    return events::is_terminal_event(event.type);
  }

 private:
  // Where frames of an event go.
  struct Frame {
    const events::EventView& event;
    std::string& out;
  };

  static Json read(const events::EventView& event) {
    return parse_json_or_nothing(event.data_json).value_or(Json(Json::Object()));
  }
  bool is_stream() const { return answer_ == Answer::stream; }

  // ---------------------------------------------------------------- frames

  // members: of the event's object, after its type and number.
  void send(std::string_view type, std::string_view members, Frame& to) {
    fmt::format_to(std::back_inserter(to.out),
                   "event: {}\ndata: {{\"type\":\"{}\",\"sequence_number\":{},{}}}\n\n", type, type,
                   numbers_.next(to.event.seq), members);
  }
  void send_response(std::string_view type, const ResponseState& state, Frame& to) {
    send(type, "\"response\":" + response_object(run_id_, *facts_, state), to);
  }
  void send_item(std::string_view type, std::string_view item, Frame& to) {
    send(type, fmt::format("\"output_index\":{},\"item\":{}", index(), item), to);
  }
  // Place of the open item's only part.
  void send_part(std::string_view type, std::string_view member, std::string_view json, Frame& to) {
    bool has_logprobs = open_ == Item::message && member != "part";
    send(type,
         fmt::format(R"("item_id":"{}","output_index":{},"content_index":0,"{}":{}{})", item_id(),
                     index(), member, json, has_logprobs ? R"(,"logprobs":[])" : ""),
         to);
  }

  // ---------------------------------------------------------------- items

  int64_t index() const { return items_ - 1; }
  std::string item_id() const {
    return response_item_id(open_ == Item::message ? "msg" : "rs", run_id_, index());
  }
  std::string part() const {
    return open_ == Item::message ? output_text_part(text_.view())
                                  : reasoning_text_part(text_.view());
  }
  std::string item(std::string_view status, std::string_view part) const {
    return open_ == Item::message ? message_item(item_id(), status, part)
                                  : reasoning_item(item_id(), status, part);
  }
  std::string text_event(std::string_view what) const {
    bool is_message = open_ == Item::message;
    return fmt::format("response.{}_text.{}", is_message ? "output" : "reasoning", what);
  }

  void open(Item kind, Frame& to) {
    if (open_ == kind) return;
    close("completed", to);
    open_ = kind;
    ++items_;
    if (!is_stream()) return;
    send_item("response.output_item.added", item("in_progress", ""), to);
    send_part("response.content_part.added", "part", part(), to);
  }

  void add_text(Item kind, std::string_view text, Frame& to) {
    bool is_parting = kind == Item::message && open_ != kind && text == events::turn_separator;
    if (text.empty() || is_parting) return;
    open(kind, to);
    text_.append(text);
    if (is_stream()) send_part(text_event("delta"), "delta", json_quote(text), to);
  }

  // Does nothing when no item is open.
  void close(std::string_view status, Frame& to) {
    if (open_ == Item::none) return;
    std::string whole_part = part();
    std::string whole_item = item(status, whole_part);
    if (is_stream()) {
      send_part(text_event("done"), "text", json_quote(text_.view()), to);
      send_part("response.content_part.done", "part", whole_part, to);
      send_item("response.output_item.done", whole_item, to);
    }
    keep(whole_item);
    open_ = Item::none;
    text_ = {};
  }

  // For the object at the end.
  void keep(std::string_view item) {
    output_.append(item);
    output_.append("\n");
  }

  // All items that count, joined.
  std::string output() const {
    std::string joined(output_.view());
    if (!joined.empty()) joined.pop_back();
    for (char& c : joined) {
      if (c == '\n') c = ',';
    }
    return joined;
  }

  // ---------------------------------------------------------------- events

  void begin(Frame& to) {
    has_begun_ = true;
    if (!is_stream()) return;
    send_response("response.created", {.status = "in_progress"}, to);
    send_response("response.in_progress", {.status = "in_progress"}, to);
  }

  void take_delta(const Json& data, Frame& to) {
    last_delta_seq_ = to.event.seq;
    bool is_thought = data.text_or("channel") == "thinking";
    if (is_thought || !is_checked_) {
      add_text(is_thought ? Item::reasoning : Item::message, data.text_or("content"), to);
    } else if (unchecked_.size() > 0 || data.text_or("content") != events::turn_separator) {
      unchecked_.append(data.text_or("content"));
    }
  }

  void end_turn(Frame& to) {
    close("completed", to);
    turn_begin_ = output_.size();
    unchecked_ = {};
  }

  void take_back(Frame& to) {
    close("incomplete", to);
    output_.cut(turn_begin_);
    unchecked_ = {};
  }

  void add_calls(const Json& data, Frame& to) {
    const Json* calls = data.find("calls");
    if (calls == nullptr || calls->as_array() == nullptr) return;
    for (const Json& call : *calls->as_array()) {
      const Json* arguments = call.find("arguments");
      std::string text = arguments == nullptr   ? "{}"
                         : arguments->is_text() ? *arguments->as_text()
                                                : arguments->dump();
      add_call({call.text_or("tool_call_id"), call.text_or("tool_name"), text}, to);
    }
    turn_begin_ = output_.size();
  }

  void add_call(const FunctionCall& call, Frame& to) {
    std::string id = response_item_id("fc", run_id_, items_++);
    std::string whole = function_call_item(id, "completed", call);
    if (is_stream()) {
      FunctionCall begun = call;
      begun.arguments = "";
      send_item("response.output_item.added", function_call_item(id, "in_progress", begun), to);
      std::string where = fmt::format(R"("item_id":"{}","output_index":{},)", id, index());
      std::string text = json_quote(call.arguments);
      send("response.function_call_arguments.delta", fmt::format("{}\"delta\":{}", where, text),
           to);
      send("response.function_call_arguments.done",
           fmt::format("{}\"name\":{},\"arguments\":{}", where, json_quote(call.name), text), to);
      send_item("response.output_item.done", whole, to);
    }
    keep(whole);
  }

  // The text of the last turn is the answer.
  void add_output(Frame& to) {
    GrowingText answer = std::exchange(unchecked_, {});
    add_text(Item::message, answer.view(), to);
  }

  void complete(Frame& to) {
    if (cut_ == Cut::none) {
      close("completed", to);
      return end("response.completed", {.status = "completed"}, to);
    }
    close("incomplete", to);
    std::string_view reason = cut_ == Cut::length ? "max_output_tokens" : "content_filter";
    end("response.incomplete", {.status = "incomplete", .incomplete_reason = reason}, to);
  }

  void fail(const Json& data, Frame& to) {
    std::string_view code = data.text_or("code");
    std::string_view message = data.text_or("message");
    if (code == "output.schema_mismatch") {
      take_back(to);
    } else {
      close("incomplete", to);
    }
    if (answer_ == Answer::whole) {
      status_ = openai_failure_status(code);
      may_be_repeated_ = may_repeat_openai_failure(code);
      to.out += openai_error(status_, code, message);
      return;
    }
    end("response.failed",
        {.status = "failed", .error_code = openai_failure_code(code), .error_message = message},
        to);
  }

  void end(std::string_view type, ResponseState state, Frame& to) {
    std::string items = output();
    state.output = items;
    state.usage = to.event.usage_json;
    if (state.status == "completed") {
      state.completed_at = parse_rfc3339(to.event.created_at).value_or(0) / 1000;
    }
    if (is_stream()) {
      send_response(type, state, to);
      to.out += "data: [DONE]\n\n";
    } else {
      to.out += response_object(run_id_, *facts_, state);
    }
  }

  std::string run_id_;
  std::shared_ptr<const std::string> facts_;
  Answer answer_;
  bool is_checked_;
  Cut cut_ = Cut::none;
  bool has_begun_ = false;
  int status_ = 200;
  bool may_be_repeated_ = false;
  FrameNumbers numbers_;
  GrowingText output_;     // of the items that are closed and count, each with a line end
  size_t turn_begin_ = 0;  // in it
  Item open_ = Item::none;
  int64_t items_ = 0;  // that there were
  GrowingText text_;   // of the open one
  GrowingText unchecked_;
  int64_t last_delta_seq_ = 0;
};

EncoderState begin(const RunFacts& run, Answer answer) {
  return std::make_shared<const OpenaiResponse>(run, answer);
}

}  // namespace

EncoderState begin_openai_response(const RunFacts& run) { return begin(run, Answer::stream); }
EncoderState begin_openai_response_whole(const RunFacts& run) { return begin(run, Answer::whole); }
EncoderState begin_openai_response_stored(const RunFacts& run) {
  return begin(run, Answer::stored);
}

}  // namespace hostler::formats
