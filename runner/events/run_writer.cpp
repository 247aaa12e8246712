// See runner/events/run_writer.h.
#include "runner/events/run_writer.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "lib/json.h"
#include "runner/events/event_log.h"

namespace hostler::runner {
namespace {

constexpr size_t delta_bytes_max = 64 * 1024;
// Longer than a flush takes, so that little is read in small pieces under load; and so short that a
// provider is read on while Postgres is away.
constexpr int64_t caught_up_wait_ms = 200;

}  // namespace

size_t LogEntry::bytes() const {
  size_t sum = steps.outcome ? steps.outcome->answer.size() : 0;
  return sum + static_cast<size_t>(event_bytes() + result_bytes());
}

int64_t LogEntry::event_bytes() const {
  size_t sum = 0;
  for (const RunEvent& event : events) sum += event.data.size();
  return static_cast<int64_t>(sum);
}

int64_t LogEntry::result_bytes() const {
  size_t sum = 0;
  for (const ToolRecord& tool : steps.tools) {
    if (tool.error_code.empty()) sum += tool.result.size();
  }
  if (steps.stores_turn()) sum += steps.turn->parts_json.size();
  if (steps.outcome) sum += steps.outcome->output.size();
  return static_cast<int64_t>(sum);
}

RunWriter::RunWriter(Claim claim, EventLog& log)
    : claim_(std::move(claim)),
      log_(log),
      last_seq_(claim_.last_seq),
      committed_seq_(claim_.last_seq),
      event_bytes_(claim_.event_bytes),
      result_bytes_(claim_.result_bytes),
      output_bytes_(claim_.event_bytes) {}

RunWriter::~RunWriter() { log_.count_pending(-pending_bytes_ - in_flight_bytes_); }

void RunWriter::count_pending(size_t bytes) {
  output_bytes_ += static_cast<int64_t>(bytes);
  pending_bytes_ += static_cast<int64_t>(bytes);
  log_.count_pending(static_cast<int64_t>(bytes));
}

void RunWriter::mark_dirty() {
  ++writes_;
  if (!is_in_flight_) log_.enqueue(shared_from_this());
}

bool RunWriter::has_room(size_t bytes) const {
  return output_bytes_max_ == 0 || output_bytes_ + static_cast<int64_t>(bytes) <= output_bytes_max_;
}

RunFailure RunWriter::output_failure(std::string_view what) const {
  return {"run.output_limit",
          fmt::format("{}: limit.run_event_bytes is {}.", what, output_bytes_max_)};
}

void RunWriter::append(std::string_view type, std::string data_json) {
  if (is_fenced_) return;
  count_pending(data_json.size());
  events_.push_back({++last_seq_, JsonEvent{std::string(type), std::move(data_json)}});
  mark_dirty();
}

void RunWriter::append_delta(std::string_view channel, std::string_view text) {
  if (is_fenced_ || text.empty()) return;
  count_pending(text.size());
  if (!events_.empty()) {
    TextDelta* last = std::get_if<TextDelta>(&events_.back().body);
    if (last != nullptr && last->channel == channel && last->text.size() < delta_bytes_max) {
      last->text += text;
      return;  // it is dirty already
    }
  }
  events_.push_back({++last_seq_, TextDelta{std::string(channel), std::string(text)}});
  mark_dirty();
}

void RunWriter::commit_turn(TurnRecord turn) {
  if (is_fenced_) return;
  assert(!steps_.turn);  // the next turn waits for the commit of this one's calls
  steps_.turn = std::move(turn);
  mark_dirty();
}

void RunWriter::change_route(std::string route_id) {
  if (is_fenced_) return;
  steps_.route_id = std::move(route_id);
  mark_dirty();
}

void RunWriter::commit_tool(ToolRecord tool, std::string data_json) {
  if (is_fenced_) return;
  append("tool.result", std::move(data_json));
  tool.seq = last_seq_;
  steps_.tools.push_back(std::move(tool));
  mark_dirty();
}

void RunWriter::wait(std::string data_json, WaitRecord record) {
  if (is_fenced_) return;
  assert(!is_ending_);
  is_ending_ = true;
  append("run.waiting_for_input", std::move(data_json));
  steps_.wait = std::move(record);
  mark_dirty();
}

void RunWriter::end(std::string_view type, std::string data_json, Outcome outcome) {
  if (is_fenced_) return;
  assert(!is_ending_);
  is_ending_ = true;
  append(type, std::move(data_json));
  steps_.outcome = std::move(outcome);
  mark_dirty();
}

Task<bool> RunWriter::committed() {
  RunWriterPtr self = shared_from_this();
  int64_t wanted = writes_;
  while (!is_fenced_ && committed_writes_ < wanted) {
    co_await written_.wait();
  }
  co_return !is_fenced_;
}

Task<void> RunWriter::caught_up() {
  RunWriterPtr self = shared_from_this();
  co_await written_.wait_for(log_.loop(), caught_up_wait_ms);
}

bool RunWriter::begins_with_delta() const {
  return !events_.empty() && std::holds_alternative<TextDelta>(events_.front().body);
}

bool RunWriter::queue_in(const LogLane& lane) { return std::exchange(queued_in_, &lane) != &lane; }

bool RunWriter::leave_queue(const LogLane& lane) {
  if (queued_in_ != &lane) return false;
  queued_in_ = nullptr;
  return true;
}

RunEvent RunWriter::finished(PendingEvent event) {
  if (JsonEvent* json = std::get_if<JsonEvent>(&event.body)) {
    return {event.seq, std::move(json->type), std::move(json->data)};
  }
  const TextDelta& delta = std::get<TextDelta>(event.body);
  JsonWriter json;
  json.begin_object().member("content", delta.text);
  if (!delta.channel.empty()) json.member("channel", delta.channel);
  json.end_object();
  std::string data = json.take();
  // Bytes of the text itself.
  output_bytes_ += static_cast<int64_t>(data.size() - delta.text.size());
  return {event.seq, "message.delta", std::move(data)};
}

LogEntry RunWriter::take() {
  LogEntry entry;
  entry.events.reserve(events_.size());
  for (PendingEvent& event : events_) entry.events.push_back(finished(std::move(event)));
  events_.clear();
  in_flight_bytes_ += std::exchange(pending_bytes_, 0);
  entry.steps = std::exchange(steps_, {});
  entry.writes = writes_;
  entry.writer = shared_from_this();
  is_in_flight_ = true;
  return entry;
}

LogEntry RunWriter::take_deltas() {
  LogEntry entry;
  auto end = std::find_if_not(events_.begin(), events_.end(), [](const PendingEvent& event) {
    return std::holds_alternative<TextDelta>(event.body);
  });
  for (auto event = events_.begin(); event != end; ++event) {
    int64_t bytes = std::ssize(std::get<TextDelta>(event->body).text);
    pending_bytes_ -= bytes;
    in_flight_bytes_ += bytes;
    entry.events.push_back(finished(std::move(*event)));
  }
  events_.erase(events_.begin(), end);
  entry.writes = committed_writes_;
  entry.writer = shared_from_this();
  is_in_flight_ = true;
  return entry;
}

void RunWriter::apply_results(const LogEntry& entry) {
  committed_writes_ = entry.writes;
  if (entry.steps.ends_work()) has_ended_ = true;
  if (!entry.events.empty()) committed_seq_ = entry.events.back().seq;
  event_bytes_ += entry.event_bytes();
  result_bytes_ += entry.result_bytes();
}

void RunWriter::land() {
  is_in_flight_ = false;
  log_.count_pending(-std::exchange(in_flight_bytes_, 0));
  if (has_pending()) log_.enqueue(shared_from_this());
}

void RunWriter::drop() {
  events_.clear();
  log_.count_pending(-std::exchange(pending_bytes_, 0));
  steps_ = {};
}

}  // namespace hostler::runner
