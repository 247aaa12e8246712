// See lib/formats/ui_run.h.
#include "lib/formats/ui_run.h"
#include "lib/events/turn_separator.h"

#include <utility>

#include <fmt/format.h>

namespace hostler::formats {
namespace {

constexpr std::string_view question_tool = "ask_user";

// The member as JSON text.
std::string json_of(const Json& data, std::string_view name, std::string_view otherwise) {
  const Json* member = data.find(name);
  return member == nullptr ? std::string(otherwise) : member->dump();
}

// Converts run_usage() into the SDK's LanguageModelUsage.
void write_usage(std::string_view stored, JsonWriter& json) {
  std::optional<Json> usage = parse_json_or_nothing(stored);
  if (!usage || !usage->is_object()) return;
  int64_t input = usage->integer_or("input_tokens", 0);
  int64_t output = usage->integer_or("output_tokens", 0);
  json.key("usage").begin_object().member("inputTokens", input).member("outputTokens", output);
  json.member("totalTokens", input + output);
  json.member("cachedInputTokens", usage->integer_or("cache_read_tokens", 0)).end_object();
}

}  // namespace

UiRun::UiRun(const RunFacts& run) : is_checked_(run.is_checked) {
  auto held_tools = std::make_shared<std::set<std::string, std::less<>>>();
  held_tools->emplace(question_tool);
  std::optional<Json> facts = parse_json_or_nothing(run.client_facts);
  const Json* held = facts ? facts->find("held") : nullptr;
  if (held != nullptr && held->as_array() != nullptr) {
    for (const Json& name : *held->as_array()) {
      if (name.is_text()) held_tools->insert(*name.as_text());
    }
  }
  held_tools_ = std::move(held_tools);
}

bool UiRun::take(const events::EventView& event, UiSink& sink) {
  if (event.type == "run.input_provided") {
    // A client that was shown an end follows on from here.
    if (std::exchange(is_waiting_, false)) is_started_ = false;
    takes_calls_ = false;
    return false;
  }
  std::optional<Json> parsed = parse_json_or_nothing(event.data_json);
  Json data = parsed ? std::move(*parsed) : Json(Json::Object());
  bool took_calls = std::exchange(takes_calls_, false);
  if (!is_started_) start(event, data, sink);
  if (event.type == "message.delta") {
    add_delta(event.seq, data, sink);
  } else if (event.type == "tool.call") {
    if (has_calls_ && !took_calls) begin_turn(sink);
    add_call(data, sink);
    takes_calls_ = true;
  } else if (event.type == "tool.result") {
    add_result(data, sink);
  } else if (event.type == "run.output") {
    show_pending(sink);
    close_text(sink);
    sink.data("output", "output", json_of(data, "output", "null"));
  } else if (event.type == "output.cut") {
    cut_ = cut_of(data);
  } else if (events::is_voiding_event(event.type)) {
    return discard(data.integer_or("discard_after_seq", 0), sink);
  } else if (event.type == "run.waiting_for_input") {
    return wait(data, sink);
  } else if (events::is_terminal_event(event.type)) {
    finish(event, data, sink);
    return true;
  }
  return false;
}

// With the run's first event, which is run.started unless the run ended before it was begun; and
// behind each wait.
void UiRun::start(const events::EventView& event, const Json& data, UiSink& sink) {
  is_started_ = true;
  if (event.type != "run.started") return sink.start("");
  JsonWriter json;
  json.begin_object().member("threadId", data.text_or("thread_id"));
  json.member("personaId", data.text_or("persona_id")).member("model", data.text_or("model"));
  json.member("createdAt", event.created_at).end_object();
  sink.start(json.so_far());
  begin_turn(sink);
}

void UiRun::begin_turn(UiSink& sink) {
  end_step(sink);
  sink.start_step();
  is_in_turn_ = true;
  is_step_open_ = true;
  has_calls_ = false;
  has_shown_text_ = false;
}

void UiRun::end_step(UiSink& sink) {
  close_text(sink);
  if (std::exchange(is_step_open_, false)) sink.finish_step();
}

void UiRun::add_delta(int64_t seq, const Json& data, UiSink& sink) {
  if (!is_in_turn_ || has_calls_) begin_turn(sink);
  last_delta_seq_ = seq;
  bool is_thought = data.text_or("channel") == "thinking";
  Text text{is_thought ? UiText::reasoning : UiText::text,
            fmt::format("{}-{}", is_thought ? "reasoning" : "text", seq)};
  std::string_view content = data.text_or("content");
  // The separator of turns separates their items here.
  bool goes_on = is_checked_ ? !pending_.empty() && pending_.back().text.kind == text.kind
                             : open_text_ && open_text_->kind == text.kind;
  bool is_parting = !is_thought && !goes_on && content == events::turn_separator;
  if (content.empty() || is_parting) return;
  if (!is_checked_) return show_text(text, content, sink);
  if (pending_.empty() || pending_.back().text.kind != text.kind) {
    pending_.push_back({std::move(text), {}});
  }
  pending_.back().content.append(content);
}

// Goes on with the open text if it is of the same kind.
void UiRun::show_text(const Text& text, std::string_view content, UiSink& sink) {
  if (!open_text_ || open_text_->kind != text.kind) {
    close_text(sink);
    open_text_ = text;
    sink.start_text(text.kind, text.id);
  }
  has_shown_text_ = true;
  sink.add_text(open_text_->kind, open_text_->id, content);
}

void UiRun::close_text(UiSink& sink) {
  if (!open_text_) return;
  sink.end_text(open_text_->kind, open_text_->id);
  open_text_.reset();
}

void UiRun::show_pending(UiSink& sink) {
  for (const Pending& each : std::exchange(pending_, {})) {
    show_text(each.text, each.content.view(), sink);
  }
}

void UiRun::add_call(const Json& data, UiSink& sink) {
  if (!is_in_turn_) begin_turn(sink);
  show_pending(sink);
  close_text(sink);
  has_calls_ = true;
  std::string id(data.text_or("tool_call_id"));
  Call call{std::string(data.text_or("tool_name")),
            std::make_shared<const std::string>(json_of(data, "arguments", "{}"))};
  Call& added = calls_.insert_or_assign(id, std::move(call)).first->second;
  if (!held_tools_->contains(added.tool_name)) show_call(id, added, UiRunner::here, sink);
}

void UiRun::show_call(const std::string& id, Call& call, UiRunner runner, UiSink& sink) {
  if (runner == UiRunner::here && call.is_shown) return;
  bool is_behind = runner == UiRunner::client && call.is_shown;
  call.is_of_client = runner != UiRunner::here;
  call.is_shown = true;
  sink.tool_input({id, call.tool_name, *call.input}, is_behind ? UiRunner::client_behind : runner);
}

void UiRun::add_result(const Json& data, UiSink& sink) {
  auto found = calls_.find(data.text_or("tool_call_id"));
  if (found == calls_.end()) return;
  const std::string& id = found->first;
  Call& call = found->second;
  if (!call.is_shown) show_call(id, call, UiRunner::here, sink);
  const Json* error = data.find("error");
  std::string_view message = error == nullptr ? "" : error->text_or("message");
  if (message.empty() && error != nullptr) message = error->text_or("code");
  bool is_denied = error != nullptr && !call.approval_id.empty() && !call.is_of_client &&
                   error->text_or("code") == "tool.denied";
  if (!call.approval_id.empty() && !call.is_of_client) {
    sink.approval_response(id, call.approval_id, !is_denied, is_denied ? message : "");
  }
  if (is_denied) {
    sink.tool_denied(id);
  } else if (error != nullptr) {
    sink.tool_error(id, message, !call.is_of_client);
  } else {
    std::string output = json_of(data, "result", "null");
    sink.tool_output(id, output, !call.is_of_client);
    if (call.is_question) show_question(id, call, data.find("result"), sink);
  }
  calls_.erase(found);
}

// The question of ask_user as a data part; result: {answer}, null while nobody answered.
void UiRun::show_question(const std::string& id, const Call& call, const Json* result,
                          UiSink& sink) {
  std::optional<Json> input = parse_json_or_nothing(*call.input);
  JsonWriter json;
  json.begin_object().member("toolCallId", id);
  json.member("message", input ? input->text_or("message") : "");
  const Json* answer = result == nullptr ? nullptr : result->find("answer");
  if (answer != nullptr) json.member_raw("answer", answer->dump());
  json.end_object();
  sink.data("question", id, json.so_far());
}

// True: the client has to answer.
bool UiRun::wait(const Json& data, UiSink& sink) {
  std::string_view kind = data.text_or("kind");
  auto asked = calls_.find(data.text_or("tool_call_id"));
  if (kind == "tool_results") {
    // Servers of webhook and remote tools answer what is left.
    if (!show_awaited(data, sink)) return false;
  } else if (kind == "tool_confirmation" && asked != calls_.end()) {
    asked->second.approval_id = data.text_or("request_id");
    show_call(asked->first, asked->second, UiRunner::here, sink);
    sink.approval_request(asked->first, asked->second.approval_id);
  } else if (kind == "question" && asked != calls_.end()) {
    asked->second.is_question = true;
    show_call(asked->first, asked->second, UiRunner::client, sink);
    show_question(asked->first, asked->second, nullptr, sink);
  } else {
    // The protocol has no word for it: the app answers by the native calls.
    sink.data("wait", data.text_or("request_id"), data.dump());
  }
  is_waiting_ = true;
  end_step(sink);
  sink.end({UiEnd::Kind::waiting});
  return true;
}

// The calls whose results are awaited. True: the client makes one of them.
bool UiRun::show_awaited(const Json& data, UiSink& sink) {
  const Json* listed = data.find("calls");
  if (listed == nullptr || listed->as_array() == nullptr) return false;
  bool asks_client = false;
  for (const Json& each : *listed->as_array()) {
    auto found = calls_.find(each.text_or("tool_call_id"));
    if (found == calls_.end()) continue;
    Call& call = found->second;
    if (!call.approval_id.empty()) {
      sink.approval_response(found->first, call.approval_id, true, "");
    }
    bool is_of_client = each.text_or("answered_by") == "client";
    asks_client = asks_client || is_of_client;
    show_call(found->first, call, is_of_client ? UiRunner::client : UiRunner::here, sink);
  }
  return asks_client;
}

// Discards the text after the number. Returns true if some of it is already out.
bool UiRun::discard(int64_t behind_seq, UiSink& sink) {
  if (last_delta_seq_ <= behind_seq || has_calls_) return false;
  pending_.clear();
  last_delta_seq_ = behind_seq;
  if (!has_shown_text_) return false;
  open_text_.reset();
  is_in_turn_ = false;
  is_step_open_ = false;
  has_shown_text_ = false;
  if (sink.take_back()) return false;
  is_started_ = false;
  sink.end({UiEnd::Kind::taken_back, "",
            "A part of the answer that was already shown is made again. Read the messages again, "
            "then resume the stream."});
  return true;
}

void UiRun::finish(const events::EventView& event, const Json& data, UiSink& sink) {
  bool is_completed = event.type == "run.completed";
  if (is_completed) show_pending(sink);
  pending_.clear();
  close_text(sink);
  for (const auto& [id, call] : std::exchange(calls_, {})) {
    if (!call.is_shown) continue;
    sink.tool_error(id, "The run ended before this call had its result.", !call.is_of_client);
  }
  end_step(sink);
  UiEnd end{is_completed ? UiEnd::Kind::completed : UiEnd::Kind::cancelled};
  end.cut = cut_;
  JsonWriter json;
  json.begin_object();
  if (event.type == "run.failed") {
    end.kind = UiEnd::Kind::failed;
    end.error = data.text_or("message");
    if (end.error.empty()) end.error = data.text_or("code");
    json.member("status", "failed").key("error").begin_object();
    json.member("code", data.text_or("code")).member("message", end.error).end_object();
  } else {
    json.member("status", is_completed ? "completed" : "cancelled");
    if (!is_completed) json.member("reason", data.text_or("reason"));
  }
  write_usage(event.usage_json, json);
  end.metadata = json.end_object().take();
  sink.end(end);
}

}  // namespace hostler::formats
