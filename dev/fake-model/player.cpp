// The player of player.h. One call of play() writes everything that is due, as one write.
#include "dev/fake-model/player.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "dev/fake-model/answer_text.h"
#include "dev/fake-model/own_members.h"
#include "dev/fake-model/planner.h"
#include "lib/utf8.h"

namespace hostler::fake_model {
namespace {

constexpr size_t burst_bytes_max = 64 * 1024;
constexpr size_t argument_bytes_a_piece = 12;
constexpr size_t history_bytes_a_piece = 1024;
constexpr int64_t tail_delay_ms = 2;
// A stream that lags its clock by more than this does not catch up.
constexpr int64_t lag_ms_max = 1000;
constexpr std::string_view many_byte_words =
    "Grüße aus Zürich, привет, 世界您好, こんにちは, 안녕하세요, "
    "😀🚀👩‍🔬 "
    "– "
    "fin.";

int64_t epoch_us() {
  auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

}  // namespace

Player::Player(Wheel& wheel, Exchange& exchange, ChatRequest request,
               std::unique_ptr<AnswerForm> form, Turn turn, int64_t word_delay_ms)
    : wheel_(wheel),
      exchange_(exchange),
      request_(std::move(request)),
      form_(std::move(form)),
      turn_(std::move(turn)),
      delay_ms_(word_delay_ms),
      due_ms_(wheel.now_ms()) {
  take_settings();
}

// These hold for the whole turn: one form tells the usage before anything is said.
void Player::take_settings() {
  AnswerHabits habits;
  for (const Step& step : turn_) {
    if (step.kind == StepKind::usage) usage_ = step.usage;
    if (step.kind == StepKind::usage) habits.usage_place = step.usage.place;
    if (step.kind == StepKind::no_usage) has_usage_ = false;
    if (step.kind == StepKind::reason) habits.finish_word = step.text;
    if (step.kind == StepKind::ends) habits.end = step.text;
    if (step.kind == StepKind::tools && (step.text == "done" || step.text == "bare")) {
      habits.end = step.text;
    }
    if (step.kind == StepKind::pieces) pieces_ = step.text;
    if (step.kind != StepKind::stream || !request_.stream) continue;
    if (!odd_lines_) odd_lines_.emplace();
    odd_lines_->add(step.text);
  }
  form_->take_habits(std::move(habits));
}

void Player::on_room() {
  if (state_ == State::playing) wheel_.schedule(*this, due_ms_);
}

void Player::play() {
  if (state_ != State::playing) return;
  if (!tail_.empty()) {
    exchange_.write(std::exchange(tail_, {}));
  } else {
    // A late stream catches up with several words in one write.
    int64_t now = wheel_.now_ms();
    due_ms_ = std::max(due_ms_, now - lag_ms_max);
    while (state_ == State::playing && due_ms_ <= now && scratch_.size() < burst_bytes_max) {
      if (splits_utf8_ && !scratch_.empty()) break;  // one piece a write, so that each is split
      if (step_ < turn_.size()) {
        due_ms_ += play_step();
      } else {
        close();
      }
    }
    send();
  }
  if (state_ != State::playing || exchange_.is_full()) return;
  wheel_.schedule(*this, tail_.empty() ? due_ms_ : wheel_.now_ms() + tail_delay_ms);
}

int64_t Player::play_step() {
  const Step& step = turn_[step_];
  switch (step.kind) {
    case StepKind::say:
    case StepKind::stamps:
    case StepKind::think:
    case StepKind::echo_history:
    case StepKind::long_line:
    case StepKind::split_utf8:
    case StepKind::stall:
    case StepKind::half_pairs:
      return play_text(step);
    case StepKind::own:
      return play_own_members(step);
    case StepKind::tools:
      return play_tools(step);
    case StepKind::pause: {
      int64_t wait = step.number;
      next_step();
      return wait;
    }
    case StepKind::delay:
    case StepKind::finish:
    case StepKind::usage:
    case StepKind::no_usage:
    case StepKind::refuses:
    case StepKind::context:
    case StepKind::stream:
    case StepKind::pieces:
    case StepKind::reason:
    case StepKind::ends:
      play_setting(step);
      next_step();
      return 0;
    case StepKind::status:
    case StepKind::cut:
    case StepKind::cut_json:
    case StepKind::error_in_stream:
    case StepKind::silence:
    case StepKind::garbage:
    case StepKind::no_choice:
      play_failure(step);
      return 0;
  }
  return 0;
}

void Player::next_step() {
  ++step_;
  offset_ = 0;
  call_ = 0;
  has_text_ = false;
  text_.clear();
}

std::string Player::text_of(const Step& step) const {
  switch (step.kind) {
    case StepKind::echo_history:
      return request_.history;
    case StepKind::long_line:
      return std::string(static_cast<size_t>(step.number), 'x');
    case StepKind::split_utf8:
      return std::string(many_byte_words);
    case StepKind::stamps:
      return std::string(static_cast<size_t>(step.number), '.');
    case StepKind::stall:
      return is_open_ ? std::string() : some_words(5);
    case StepKind::half_pairs:
      return "12";  // two pieces
    default:
      return step.text;
  }
}

// Counts a token of the answer; false when the request allows no more.
bool Player::may_write_more() {
  if (request_.output_tokens_max > 0 && output_tokens_ >= request_.output_tokens_max) {
    reason_ = FinishReason::length;
    has_wished_reason_ = true;
    step_ = turn_.size();
    return false;
  }
  ++output_tokens_;
  return true;
}

int64_t Player::play_text(const Step& step) {
  if (!std::exchange(has_text_, true)) {
    text_ = text_of(step);
    splits_utf8_ = splits_utf8_ || step.kind == StepKind::split_utf8;
  }
  std::string_view rest = std::string_view(text_).substr(offset_);
  if (rest.empty()) {
    if (step.kind == StepKind::stall) state_ = State::silent;
    next_step();
    return 0;
  }
  std::string_view piece = next_piece(rest);
  if (step.kind == StepKind::echo_history) piece = utf8_prefix(rest, history_bytes_a_piece);
  if (step.kind == StepKind::long_line) piece = rest;
  if (step.kind == StepKind::stamps || step.kind == StepKind::half_pairs) piece = rest.substr(0, 1);
  if (!may_write_more()) return 0;
  open();
  if (step.kind == StepKind::stamps) {
    form_->text(scratch_, std::to_string(epoch_us()) + " ");
  } else if (step.kind == StepKind::half_pairs) {
    form_->raw_text(scratch_, offset_ == 0 ? "smile \\ud83d" : "\\ude00 end");
  } else if (step.kind == StepKind::think) {
    form_->thinking(scratch_, piece);
  } else {
    form_->text(scratch_, piece);
  }
  offset_ += piece.size();
  return delay_ms_;
}

int64_t Player::play_tools(const Step& step) {
  open();
  if (!has_wished_reason_) reason_ = FinishReason::tool_calls;
  if (!pieces_.empty()) return play_odd_calls(step);
  if (call_ >= step.calls.size()) {
    end_tools(step);
    return 0;
  }
  const ToolCall& call = step.calls[call_];
  if (offset_ == 0) {
    ToolCall begun = call;
    begun.id = fake_id(form_->call_id_prefix(), request_.conversation, call_ + 1);
    form_->begin_tool_call(scratch_, begun);
  }
  std::string_view rest = std::string_view(call.arguments).substr(offset_);
  std::string_view piece = utf8_prefix(rest, argument_bytes_a_piece);
  if (!piece.empty()) {
    if (!may_write_more()) return 0;
    form_->tool_arguments(scratch_, piece);
    offset_ += piece.size();
  }
  if (offset_ >= call.arguments.size()) {
    ++call_;
    offset_ = 0;
  }
  return delay_ms_;
}

// At once; a form that has one way of writing calls writes them in that.
int64_t Player::play_odd_calls(const Step& step) {
  std::vector<ToolCall> calls = step.calls;
  for (size_t i = 0; i < calls.size(); ++i) {
    calls[i].id = fake_id(form_->call_id_prefix(), request_.conversation, i + 1);
  }
  bool is_written = form_->odd_calls(scratch_, pieces_, calls);
  pieces_.clear();
  if (!is_written) return 0;
  end_tools(step);
  return delay_ms_;
}

// Cause that cuts the last call.
void Player::end_tools(const Step& step) {
  if (step.text == "length" || step.text == "content_filter") {
    reason_ = step.text == "length" ? FinishReason::length : FinishReason::content_filter;
    has_wished_reason_ = true;
  } else if (step.text == "close" && request_.stream) {
    send();
    state_ = State::ended;
    return exchange_.cut(CutStyle::close);
  }
  next_step();
}

int64_t Player::play_own_members(const Step& step) {
  open();
  form_->own_members(scratch_, step.text,
                     own_value(newest_script(request_.last_user_text), request_.turn, step.text));
  next_step();
  return delay_ms_;
}

void Player::play_setting(const Step& step) {
  if (step.kind == StepKind::delay) delay_ms_ = step.number;
  if (step.kind == StepKind::finish) {
    reason_ = step.reason;
    has_wished_reason_ = true;
  }
}

void Player::play_failure(const Step& step) {
  state_ = State::ended;
  if (step.kind == StepKind::silence) {
    state_ = State::silent;
    return;
  }
  if (step.kind == StepKind::garbage) return play_garbage(step);
  if (!request_.stream) {
    std::string half = half_document();
    if (step.kind != StepKind::cut) return exchange_.answer({200, "application/json", {}}, half);
    exchange_.write_raw("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: " +
                        std::to_string(half.size() * 2) + "\r\n\r\n" + half);
    return exchange_.cut(step.text == "reset" ? CutStyle::reset : CutStyle::close);
  }
  open();
  if (step.kind == StepKind::cut_json) form_->half_event(scratch_);
  if (step.kind == StepKind::no_choice) scratch_ = ": nothing\n\ndata: [DONE]\n\n";
  if (step.kind == StepKind::error_in_stream) {
    scratch_ += odd_stream_error(step.text);
    if (step.text.empty()) form_->error(scratch_);
  }
  if (odd_lines_) scratch_ = odd_lines_->rewritten(scratch_);
  exchange_.write(std::exchange(scratch_, {}));
  if (step.kind == StepKind::cut) {
    exchange_.cut(step.text == "reset" ? CutStyle::reset : CutStyle::close);
  } else {
    exchange_.end();
  }
}

void Player::play_garbage(const Step& step) {
  constexpr std::string_view not_json = "<<this is not JSON>> \xff\xfe\x01";
  if (step.text == "http") {
    exchange_.write_raw("\x16\x03\x01 this is not HTTP\r\n\r\n");
    exchange_.cut(CutStyle::close);
  } else if (step.text == "html") {
    exchange_.answer({200, "text/html", {}},
                     "<html><body><h1>Welcome to a proxy</h1></body></html>");
  } else if (!request_.stream) {
    exchange_.answer({200, "application/json", {}}, not_json);
  } else {
    open();
    form_->garbage_event(scratch_, not_json);
    exchange_.write(std::exchange(scratch_, {}));
    exchange_.end();
  }
}

std::optional<Usage> Player::usage() const {
  if (!has_usage_) return std::nullopt;
  // A script that says how much came in says what of it was cached, too.
  bool is_counted = !usage_.input_tokens;
  return Usage{usage_.input_tokens.value_or(request_.input_tokens),
               usage_.output_tokens.value_or(output_tokens_),
               usage_.cached_tokens.value_or(is_counted ? request_.cached_tokens : 0),
               usage_.written_tokens.value_or(is_counted ? request_.written_tokens : 0)};
}

void Player::open() {
  if (std::exchange(is_open_, true) || !request_.stream) return;
  exchange_.begin_stream(
      {200, "text/event-stream; charset=utf-8", {{"cache-control", "no-cache"}}});
  form_->open(scratch_, usage());
}

void Player::close() {
  open();
  state_ = State::ended;
  form_->close(scratch_, reason_, usage());
  if (!request_.stream) {
    exchange_.answer({200, "application/json", {}}, std::exchange(scratch_, {}));
    return;
  }
  send();
  if (!tail_.empty()) exchange_.write(std::exchange(tail_, {}));
  exchange_.end();
}

void Player::send() {
  if (scratch_.empty()) return;
  if (odd_lines_) scratch_ = odd_lines_->rewritten(scratch_);
  if (splits_utf8_) {
    auto many =
        std::find_if(scratch_.begin(), scratch_.end(), [](char c) { return (c & 0x80) != 0; });
    if (many != scratch_.end()) {
      tail_.assign(many + 1, scratch_.end());
      scratch_.erase(many + 1, scratch_.end());
    }
  }
  exchange_.write(scratch_);
  scratch_.clear();
}

// Content of a document that ends in the middle: never valid JSON.
std::string Player::half_document() {
  std::string whole;
  form_->close(whole, reason_, std::nullopt);
  return whole.substr(0, whole.size() / 2);
}

}  // namespace hostler::fake_model
