// See lib/formats/agui.h.
#include "lib/formats/agui.h"
#include "lib/events/turn_separator.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/formats/agui_writer.h"
#include "lib/formats/growing_text.h"
#include "lib/json.h"

namespace hostler::formats {
namespace {

struct Facts {
  std::string run_id;  // ours
  agui::Names names;
  std::set<std::string, std::less<>> client_tools;
};

std::shared_ptr<const Facts> facts_of(const RunFacts& run) {
  auto facts = std::make_shared<Facts>();
  facts->run_id = run.run_id;
  std::optional<Json> stored = parse_json_or_nothing(run.client_facts);
  if (!stored) stored = Json(Json::Object());
  facts->names.thread_id = stored->text_or("threadId");
  facts->names.run_id = stored->text_or("runId");
  // Name for a run that began in another way and was answered here.
  if (facts->names.run_id.empty()) facts->names.run_id = run.run_id;
  const Json* tools = stored->find("tools");
  if (tools == nullptr || tools->as_array() == nullptr) return facts;
  for (const Json& name : *tools->as_array()) {
    if (name.is_text()) facts->client_tools.insert(*name.as_text());
  }
  return facts;
}

// Returns the result of a tool as the text of a message.
std::string content_of(const Json& data) {
  if (const Json* error = data.find("error")) {
    JsonWriter json;
    json.begin_object().member_raw("error", error->dump()).end_object();
    return json.take();
  }
  const Json* result = data.find("result");
  if (result == nullptr) return "null";
  return result->is_text() ? *result->as_text() : result->dump();
}

class Agui final : public Encoder {
 public:
  explicit Agui(const RunFacts& run) : facts_(facts_of(run)), is_checked_(run.is_checked) {}
  std::shared_ptr<Encoder> copy() const override { return std::make_shared<Agui>(*this); }

  bool append(const events::EventView& event, std::string& out) override {
    std::optional<Json> data = parse_json_or_nothing(event.data_json);
    if (!data) data = Json(Json::Object());
    if (event.type == "run.started") {
      start(out);
    } else if (event.type == "message.delta") {
      add_delta(event.seq, *data, out);
    } else if (event.type == "tool.call") {
      add_call(event.seq, *data, out);
    } else if (event.type == "tool.result") {
      add_result(event.seq, *data, out);
    } else if (event.type == "run.waiting_for_input") {
      return wait(*data, out);
    } else if (events::is_voiding_event(event.type)) {
      return discard(event.type, data->integer_or("discard_after_seq", 0), out);
    } else if (event.type == "run.output") {
      show_unchecked(out);
      const Json* output = data->find("output");
      if (output != nullptr) output_ = std::make_shared<const std::string>(output->dump());
    } else if (events::is_terminal_event(event.type)) {
      finish(event, *data, out);
      return true;
    }
    return false;
  }

 private:
  enum class Open : uint8_t { nothing, text, reasoning };

  std::string message_id(int64_t seq) const { return fmt::format("{}-{}", facts_->run_id, seq); }

  // The next message to the client begins a run of its own, after an end.
  void start(std::string& out) {
    if (!std::exchange(is_started_, true)) agui::run_started(facts_->names, out);
  }

  // Ends what the client has as a run.
  void end() {
    is_started_ = false;
    open_ = Open::nothing;
  }

  void close(std::string& out) {
    if (open_ == Open::text) agui::text_ended(open_id_, out);
    if (open_ == Open::reasoning) agui::reasoning_ended(open_id_, out);
    open_ = Open::nothing;
  }

  void begin_turn() {
    turn_is_over_ = false;
    shown_text_seq_ = 0;
    parent_id_.clear();
    unchecked_ = {};
  }

  void open(Open what, int64_t seq, std::string& out) {
    start(out);
    if (open_ == what) return;
    close(out);
    open_ = what;
    open_id_ = message_id(seq);
    if (what == Open::reasoning) return agui::reasoning_started(open_id_, out);
    parent_id_ = open_id_;
    agui::text_started(open_id_, out);
  }

  void add_delta(int64_t seq, const Json& data, std::string& out) {
    if (turn_is_over_) begin_turn();
    std::string_view piece = data.text_or("content");
    if (piece.empty()) return;
    bool is_thought = data.text_or("channel") == "thinking";
    bool goes_on = is_checked_ ? unchecked_.size() > 0 : open_ == Open::text;
    // The separator of turns separates their messages here.
    if (!is_thought && !goes_on && piece == events::turn_separator) return;
    if (is_thought) {
      open(Open::reasoning, seq, out);
      agui::reasoning(open_id_, piece, out);
    } else if (is_checked_) {
      if (unchecked_.size() == 0) unchecked_seq_ = seq;
      unchecked_.append(piece);
    } else {
      open(Open::text, seq, out);
      agui::text(open_id_, piece, out);
      shown_text_seq_ = seq;
    }
  }

  // The text that was held back counts.
  void show_unchecked(std::string& out) {
    if (unchecked_.size() == 0) return;
    // A message of its own, wherever its first piece stood.
    close(out);
    open(Open::text, unchecked_seq_, out);
    agui::text(open_id_, unchecked_.view(), out);
    unchecked_ = {};
  }

  void add_call(int64_t seq, const Json& data, std::string& out) {
    if (turn_is_over_) begin_turn();
    start(out);
    show_unchecked(out);
    close(out);
    if (parent_id_.empty()) parent_id_ = message_id(seq);
    agui::Call call{std::string(data.text_or("tool_call_id")),
                    std::string(data.text_or("tool_name")), "{}", parent_id_};
    if (const Json* arguments = data.find("arguments")) call.arguments = arguments->dump();
    if (facts_->client_tools.contains(call.tool_name)) {
      held_.push_back(std::make_shared<const agui::Call>(std::move(call)));
    } else {
      agui::tool_call(call, out);
    }
  }

  // A call that was held is shown, with other arguments where somebody changed them.
  void show_held(std::string_view id, const Json* arguments, std::string& out) {
    auto found =
        std::find_if(held_.begin(), held_.end(), [&](const auto& call) { return call->id == id; });
    if (found == held_.end()) return;
    agui::Call call = **found;
    held_.erase(found);
    if (arguments != nullptr) call.arguments = arguments->dump();
    agui::tool_call(call, out);
  }

  void add_result(int64_t seq, const Json& data, std::string& out) {
    turn_is_over_ = true;
    std::string_view id = data.text_or("tool_call_id");
    // The client's own: it has it.
    if (std::erase(asked_, id) > 0) return;
    start(out);
    show_held(id, nullptr, out);
    agui::tool_result(message_id(seq), id, content_of(data), out);
  }

  // True: the client has to answer.
  bool wait(const Json& data, std::string& out) {
    if (data.text_or("kind") != "tool_results") {
      start(out);
      close(out);
      std::string_view id = data.text_or("tool_call_id");
      bool is_held =
          std::any_of(held_.begin(), held_.end(), [&](const auto& call) { return call->id == id; });
      agui::interrupted(facts_->names, data, !id.empty() && !is_held, out);
      has_waited_ = true;
      end();
      return true;
    }
    const Json* calls = data.find("calls");
    if (calls == nullptr || calls->as_array() == nullptr) return false;
    for (const Json& call : *calls->as_array()) {
      if (call.text_or("answered_by") != "client") continue;
      start(out);
      std::string_view id = call.text_or("tool_call_id");
      show_held(id, call.find("arguments"), out);
      // A run that went on without it asks for it again.
      if (std::ranges::find(asked_, id) == asked_.end()) asked_.emplace_back(id);
    }
    // Servers of webhook tools answer what is left.
    if (asked_.empty()) return false;
    close(out);
    agui::pending(facts_->names, asked_, out);
    has_waited_ = true;
    end();
    return true;
  }

  // The turn is done again. True: text of it was sent.
  bool discard(std::string_view cause, int64_t behind_seq, std::string& out) {
    bool is_sent = shown_text_seq_ > behind_seq;
    if (is_sent) {
      start(out);
      std::string_view code = cause == "run.fell_back" ? cause : "run.resumed";
      agui::run_error(code, "A part of the answer that was already sent is made again.", out);
      end();
    } else {
      close(out);
    }
    begin_turn();
    return is_sent;
  }

  void finish(const events::EventView& event, const Json& data, std::string& out) {
    start(out);
    if (event.type == "run.failed") {
      agui::run_error(data.text_or("code"), data.text_or("message"), out);
      return end();
    }
    bool is_completed = event.type == "run.completed";
    if (is_completed) show_unchecked(out);
    close(out);
    if (is_completed) {
      // For a run that waited it would be the usage of several.
      agui::completed(facts_->names, output_ ? std::string_view(*output_) : "",
                      has_waited_ ? "" : event.usage_json, out);
    } else {
      agui::cancelled(facts_->names, out);
    }
    end();
  }

  std::shared_ptr<const Facts> facts_;
  bool is_checked_;
  bool is_started_ = false;  // RUN_STARTED was told, and no end since
  bool has_waited_ = false;
  bool turn_is_over_ = false;  // what comes of a model begins another one
  Open open_ = Open::nothing;
  std::string open_id_;
  std::string parent_id_;       // of the turn's calls
  int64_t shown_text_seq_ = 0;  // of the turn
  GrowingText unchecked_;       // of the turn
  int64_t unchecked_seq_ = 0;   // where it began
  std::vector<std::shared_ptr<const agui::Call>> held_;
  std::vector<std::string> asked_;  // calls that the client is to answer
  std::shared_ptr<const std::string> output_;
};

}  // namespace

EncoderState begin_agui(const RunFacts& run) { return std::make_shared<const Agui>(run); }

std::string agui_error_frames(const Error& error) {
  std::string out;
  const ErrorRow& row = error_row(error.code);
  agui::run_error(row.name, error.detail.empty() ? row.title : std::string_view(error.detail), out);
  return out;
}

}  // namespace hostler::formats
