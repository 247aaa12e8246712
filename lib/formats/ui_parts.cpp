// See lib/formats/ui_parts.h.
#include "lib/formats/ui_parts.h"

#include <utility>

#include "lib/json.h"

namespace hostler::formats {
namespace {

// Two objects as one; either may be empty.
std::string joined(std::string_view first, std::string_view second) {
  if (first.empty()) return std::string(second);
  if (second.empty()) return std::string(first);
  return std::string(first.substr(0, first.size() - 1)) + "," + std::string(second.substr(1));
}

}  // namespace

UiParts::Part* UiParts::find(Kind kind, std::string_view id, std::string_view name) {
  for (size_t i = parts_.size(); i-- > 0;) {
    Part& part = parts_[i];
    if (part.kind == kind && part.id == id && (name.empty() || part.name == name)) return &part;
  }
  return nullptr;
}

void UiParts::start(std::string_view metadata) {
  begin_metadata_ = joined(begin_metadata_, metadata);
  end_.reset();
}

void UiParts::start_step() { parts_.push_back({Kind::step}); }

void UiParts::start_text(UiText kind, std::string_view id) {
  parts_.push_back({kind == UiText::text ? Kind::text : Kind::reasoning, std::string(id)});
}

void UiParts::add_text(UiText kind, std::string_view id, std::string_view text) {
  Part* part = find(kind == UiText::text ? Kind::text : Kind::reasoning, id);
  if (part != nullptr) part->text.append(text);
}

void UiParts::end_text(UiText kind, std::string_view id) {
  Part* part = find(kind == UiText::text ? Kind::text : Kind::reasoning, id);
  if (part != nullptr) part->is_done = true;
}

void UiParts::tool_input(const UiCall& call, UiRunner runner) {
  Part* part = find(Kind::tool, call.id);
  if (part == nullptr) {
    part = &parts_.emplace_back(
        Part{.kind = Kind::tool, .id = std::string(call.id), .name = std::string(call.tool_name)});
  }
  part->state = State::input;
  part->runs_here = runner == UiRunner::here;
  part->input = std::make_shared<const std::string>(call.input);
}

void UiParts::approval_request(std::string_view call_id, std::string_view approval_id) {
  Part* part = find(Kind::tool, call_id);
  if (part == nullptr) return;
  part->state = State::asked;
  part->approval = Approval{std::string(approval_id)};
}

void UiParts::approval_response(std::string_view call_id, std::string_view approval_id,
                                bool is_approved, std::string_view reason) {
  Part* part = find(Kind::tool, call_id);
  if (part == nullptr) return;
  part->approval = Approval{std::string(approval_id), is_approved, std::string(reason)};
}

void UiParts::finish_call(std::string_view call_id, State state, std::string_view output,
                          bool ran_here) {
  Part* part = find(Kind::tool, call_id);
  if (part == nullptr) return;
  part->state = state;
  part->output = std::make_shared<const std::string>(output);
  part->runs_here = part->runs_here || ran_here;
  // A message that holds an approval says how it was answered.
  bool is_answered = part->approval && part->approval->is_approved;
  if (!is_answered) part->approval.reset();
}

void UiParts::tool_output(std::string_view call_id, std::string_view output_json, bool ran_here) {
  finish_call(call_id, State::output, output_json, ran_here);
}

void UiParts::tool_error(std::string_view call_id, std::string_view message, bool ran_here) {
  finish_call(call_id, State::error, message, ran_here);
}

void UiParts::tool_denied(std::string_view call_id) {
  finish_call(call_id, State::denied, "", false);
}

void UiParts::data(std::string_view name, std::string_view id, std::string_view json) {
  Part* part = find(Kind::data, id, name);
  if (part == nullptr) {
    part = &parts_.emplace_back(
        Part{.kind = Kind::data, .id = std::string(id), .name = std::string(name)});
  }
  part->input = std::make_shared<const std::string>(json);
}

bool UiParts::take_back() {
  while (!parts_.empty()) {
    bool is_step = parts_.back().kind == Kind::step;
    parts_.pop_back();
    if (is_step) break;
  }
  return true;
}

void UiParts::end(const UiEnd& end) { end_ = end; }

std::string UiParts::metadata() const {
  return joined(begin_metadata_, end_ ? end_->metadata : "");
}

std::string UiParts::message_json(std::string_view message_id) const {
  JsonWriter json;
  json.begin_object().member("id", message_id).member("role", "assistant");
  if (std::string given = metadata(); !given.empty()) json.member_raw("metadata", given);
  json.key("parts").begin_array();
  for (const Part& part : parts_) {
    json.begin_object();
    if (part.kind == Kind::step) {
      json.member("type", "step-start");
    } else if (part.kind == Kind::data) {
      json.member("type", "data-" + part.name).member("id", part.id);
      json.member_raw("data", *part.input);
    } else if (part.kind == Kind::tool) {
      constexpr std::string_view states[] = {"input-available", "approval-requested",
                                             "output-denied", "output-available", "output-error"};
      json.member("type", "tool-" + part.name).member("toolCallId", part.id);
      json.member("state", states[static_cast<size_t>(part.state)]);
      json.member_raw("input", *part.input);
      if (part.state == State::output) json.member_raw("output", *part.output);
      if (part.state == State::error) json.member("errorText", *part.output);
      if (part.runs_here) json.member("providerExecuted", true);
      if (part.approval) {
        json.key("approval").begin_object().member("id", part.approval->id);
        if (part.approval->is_approved) json.member("approved", *part.approval->is_approved);
        if (!part.approval->reason.empty()) json.member("reason", part.approval->reason);
        json.end_object();
      }
    } else {
      bool is_text = part.kind == Kind::text;
      json.member("type", is_text ? "text" : "reasoning");
      if (!is_text) json.member("id", part.id);
      json.member("text", part.text.view());
      json.member("state", part.is_done ? "done" : "streaming");
    }
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

void UiParts::show_tool(const Part& part, UiSink& sink) {
  sink.tool_input({part.id, part.name, *part.input},
                  part.runs_here ? UiRunner::here : UiRunner::client);
  if (part.approval) {
    sink.approval_request(part.id, part.approval->id);
    if (part.approval->is_approved) {
      sink.approval_response(part.id, part.approval->id, *part.approval->is_approved,
                             part.approval->reason);
    }
  }
  if (part.state == State::denied) sink.tool_denied(part.id);
  if (part.state == State::output) sink.tool_output(part.id, *part.output, part.runs_here);
  if (part.state == State::error) sink.tool_error(part.id, *part.output, part.runs_here);
}

void UiParts::show(UiSink& sink, bool with_end) const {
  sink.start(begin_metadata_);
  bool is_first_step = true;
  for (const Part& part : parts_) {
    UiText kind = part.kind == Kind::text ? UiText::text : UiText::reasoning;
    switch (part.kind) {
      case Kind::step:
        if (!std::exchange(is_first_step, false)) sink.finish_step();
        sink.start_step();
        break;
      case Kind::tool:
        show_tool(part, sink);
        break;
      case Kind::data:
        sink.data(part.name, part.id, *part.input);
        break;
      case Kind::text:
      case Kind::reasoning:
        sink.start_text(kind, part.id);
        sink.add_text(kind, part.id, part.text.view());
        if (part.is_done) sink.end_text(kind, part.id);
        break;
    }
  }
  if (!with_end || !end_) return;
  if (!is_first_step) sink.finish_step();
  sink.end(*end_);
}

}  // namespace hostler::formats
