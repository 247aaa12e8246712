// Shared part of all wire forms. See runner/models/turn_reader.h.
#include "runner/models/turn_reader.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_set>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/utf8.h"
#include "runner/models/anthropic.h"
#include "runner/models/finish_reasons.h"
#include "runner/models/openai.h"

namespace hostler {
namespace {

// Number of items of one kind in one turn.
constexpr int64_t tokens_max = 1'000'000'000;

// Texts whose characters may be cut in two; those of arguments have their call's place.
constexpr int64_t answer_stream = -1;
constexpr int64_t thinking_stream = -2;

// The values of a JSON text, or more; each but the first follows a comma or an open bracket.
size_t json_values_at_most(std::string_view text) {
  size_t values = 1;
  bool is_in_text = false;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (is_in_text && c == '\\') {
      ++at;
    } else if (c == '"') {
      is_in_text = !is_in_text;
    } else if (!is_in_text && (c == ',' || c == '[' || c == '{')) {
      ++values;
    }
  }
  return values;
}

// Which is no object, so that the call is answered with tool.args_invalid.
std::string left_out(size_t bytes) {
  return fmt::format(
      "\"{} bytes of arguments were left out: those of a turn may have {} bytes and {} values\"",
      bytes, turn_argument_bytes_max, turn_argument_values_max);
}

}  // namespace

void TurnReader::read_line(const SseLine& line) {
  switch (line.kind) {
    case SseLine::Kind::data:
      return read_event(line.text);
    case SseLine::Kind::error:
      return read_error(line.text);
    case SseLine::Kind::bare: {
      if (fault_ || saw_last_event_) return;
      std::optional<Json> text_part = parse_lenient_json(line.text);
      std::optional<ProviderError> error =
          text_part ? read_provider_error(*text_part) : std::nullopt;
      if (error) fail(*std::move(error));
      return;
    }
    case SseLine::Kind::end:
      return end_event();
  }
}

void TurnReader::read_event(std::string_view text) {
  if (fault_ || text.find_first_not_of(" \t") == std::string_view::npos) return;
  if (saw_last_event_) return read_late_event(text);
  if (!open_text_.empty()) return go_on(text);
  if (is_last_event(text)) return mark_last_event();
  take_text(text, false);
}

void TurnReader::read_error(std::string_view text) {
  if (fault_ || saw_last_event_) return;
  if (!open_text_.empty()) return go_on(text);
  if (is_blank(text)) return fail({.status = 0, .message = "no message"});
  take_text(text, true);
}

void TurnReader::take_text(std::string_view text, bool is_error) {
  std::optional<Json> event = parse_stream_json(text, has_halves_);
  if (!event) {
    JsonProgress progress;
    progress.add(text);
    if (progress.is_open()) {
      open_text_ = text;
      open_progress_ = progress;
      is_open_error_ = is_error;
      return;
    }
  }
  if (is_error) {
    ProviderError error = read_refusal(text);
    if (error.message.empty()) error.message = "no message";
    fail(std::move(error));
  } else if (!event) {
    fail(TurnFault::Kind::bad_response, "it sent something that is not a JSON object");
  } else {
    take_parsed(*event);
  }
  has_halves_ = false;
}

void TurnReader::take_parsed(const Json& event) {
  if (std::optional<ProviderError> error = read_provider_error(event)) {
    fail(*std::move(error));
  } else if (!event.is_object()) {
    fail(TurnFault::Kind::bad_response, "it sent something that is not a JSON object");
  } else {
    take_event(event);
  }
}

// The lines of an event are joined by line feeds.
void TurnReader::go_on(std::string_view text) {
  if (open_text_.size() + text.size() > 2 * turn_bytes_max) {
    fail(TurnFault::Kind::too_long, "the answer is over 4 MiB");
    return;
  }
  open_text_ += '\n';
  open_text_ += text;
  open_progress_.add(text);
  if (open_progress_.is_open()) return;
  std::string whole = std::move(open_text_);
  open_text_.clear();
  take_text(whole, is_open_error_);
}

void TurnReader::end_event() {
  if (open_text_.empty() || fault_) return;
  open_text_.clear();
  fail(TurnFault::Kind::bad_response, "it sent something that is not a JSON object");
}

void TurnReader::read_late_event(std::string_view text) {
  constexpr int late_events_max = 8;
  if (late_events_++ >= late_events_max) return;
  std::optional<Json> event = parse_lenient_json(text);
  if (event && event->is_object()) take_late_event(*event);
}

void TurnReader::read_document(std::string_view text) {
  if (fault_) return;
  std::optional<Json> document = parse_lenient_json(text);
  std::optional<ProviderError> error = document ? read_provider_error(*document) : std::nullopt;
  if (error) {
    fail(*std::move(error));
  } else if (!document || !document->is_object()) {
    fail(TurnFault::Kind::bad_response, "it sent something that is not a JSON object");
  } else {
    take_document(*document);
    if (fault_ || is_complete() || !fault_word_.empty()) return;
    fail(TurnFault::Kind::bad_response, "it sent JSON that is not an answer");
  }
}

void TurnReader::end() {
  end_event();
  end_halves();
  if (!fault_word_.empty() && !fault_) {
    fail(TurnFault::Kind::bad_finish, fmt::format("it ended its answer with `{}`", fault_word_));
  }
  if (saw_last_event_ && !is_complete() && fault_word_.empty() && !fault_) {
    fail(TurnFault::Kind::no_answer, "it ended the stream without an answer");
  }
  finish_held();
  name_calls();
  bound_arguments();
  bool wants_tools = !calls_.empty();
  if (is_end_assumed_ && wants_tools) {
    std::optional<Json> last = parse_json_or_nothing(call_at(calls_.size() - 1).arguments);
    turn_.is_broken_off = !last || !last->is_object();
  }
  finish_parts();
  end_reason(wants_tools);
}

// The id distinguishes results. If a server sends none, or one twice, Hostler makes one.
void TurnReader::name_calls() {
  std::unordered_set<std::string> ids;
  for (size_t nth = 0; nth < calls_.size(); ++nth) {
    ToolCall& call = call_at(nth);
    if (call.name.empty() && !fault_ && is_complete() && !was_stopped()) {
      fail(TurnFault::Kind::bad_response, "it called a tool without naming it");
    }
    bool is_new = ids.insert(call.id).second;
    if (call.id.empty() || !is_new) call.id = "call_" + to_hex(random_bytes(12));
  }
}

void TurnReader::end_reason(bool wants_tools) {
  if (!is_complete()) return;
  if (wants_tools && turn_.finish_reason == FinishReason::stop) {
    turn_.finish_reason = FinishReason::tool_calls;
  } else if (!wants_tools && turn_.finish_reason == FinishReason::tool_calls) {
    turn_.finish_reason = FinishReason::stop;
  }
}

// Places among the parts are not valid any more.
void TurnReader::finish_parts() {
  Parts parts;
  std::string members = message_members();
  if (!members.empty()) parts.emplace_back(OpaquePart{OpaquePart::Place::message, members});
  size_t nth_call = 0;
  for (Part& part : turn_.parts) {
    bool is_call = std::holds_alternative<ToolCall>(part);
    const OpaquePart* opaque = std::get_if<OpaquePart>(&part);
    bool is_whole = opaque == nullptr || !opaque->data.empty();
    if (is_whole) parts.push_back(std::move(part));
    if (!is_call) continue;
    auto data = call_opaque_.find(nth_call++);
    if (data == call_opaque_.end()) continue;
    parts.emplace_back(OpaquePart{OpaquePart::Place::call, std::move(data->second)});
  }
  // Calls that were cut before their names came.
  erase_calls(parts, [](const ToolCall& call) { return call.name.empty(); });
  turn_.parts = std::move(parts);
  calls_.clear();
}

// All runs of the daemon share the loop, which reads the arguments several times: to show, check
// and send them. The owner of a model could keep the loop from all others with few bytes.
void TurnReader::bound_arguments() {
  size_t bytes = 0;
  size_t values = 0;
  for (size_t nth = 0; nth < calls_.size(); ++nth) {
    ToolCall& call = call_at(nth);
    size_t bytes_then = bytes + call.arguments.size();
    size_t values_then = bytes_then > turn_argument_bytes_max
                             ? turn_argument_values_max
                             : values + json_values_at_most(call.arguments);
    if (bytes_then > turn_argument_bytes_max || values_then > turn_argument_values_max) {
      call.arguments = left_out(call.arguments.size());
      continue;
    }
    bytes = bytes_then;
    values = values_then;
  }
}

// A server's own end mark completes a turn whose finish reason it forgot, if there is one.
void TurnReader::mark_last_event() {
  saw_last_event_ = true;
  if (is_complete() || !fault_word_.empty() || !has_answer()) return;
  turn_.finish_reason = FinishReason::stop;
  is_end_assumed_ = true;
}

void TurnReader::finish_with(std::string_view word) {
  constexpr size_t word_bytes_max = 64;
  if (!fault_word_.empty()) return;
  NamedFinish named = finish_named(word);
  // An unknown word without an answer is no end that anybody can rely on.
  bool says_nothing = !has_text_ && calls_.empty() && !named.is_known;
  if (named.is_fault || says_nothing) {
    fault_word_ = utf8_prefix(word, word_bytes_max);
    turn_.finish_reason = FinishReason::none;
  } else {
    turn_.finish_reason = named.reason;
  }
}

void TurnReader::fail(TurnFault::Kind kind, std::string message) {
  if (!fault_) fault_ = TurnFault{kind, {.status = 0, .message = std::move(message)}};
}

void TurnReader::fail(ProviderError error) {
  if (!fault_) fault_ = TurnFault{TurnFault::Kind::provider_error, std::move(error)};
}

bool TurnReader::count_bytes(size_t count) {
  bytes_ += count;
  if (bytes_ > turn_bytes_max) {
    fail(TurnFault::Kind::too_long, "the answer is over 4 MiB");
    return false;
  }
  if (!turn_.usage.measured) turn_.usage.output_tokens = tokens_of_bytes(bytes_);
  return true;
}

// Most events hold no halves, and nothing waits.
void TurnReader::add_text(TextChannel channel, std::string_view piece) {
  if (!has_halves_ && !halves_.is_waiting()) return add_whole_text(channel, piece);
  int64_t stream = channel == TextChannel::answer ? answer_stream : thinking_stream;
  add_whole_text(channel, halves_.joined(stream, piece));
}

void TurnReader::add_whole_text(TextChannel channel, std::string_view piece) {
  if (piece.empty() || fault_ || !count_bytes(piece.size())) return;
  if (channel == TextChannel::thinking) {
    turn_.thinking += piece;
    observer_.on_text(channel, piece);
    return;
  }
  TextPart* text = turn_.parts.empty() ? nullptr : std::get_if<TextPart>(&turn_.parts.back());
  if (text == nullptr) text = &std::get<TextPart>(turn_.parts.emplace_back(TextPart()));
  // Length of the text that text_of() joins.
  if (is_behind_call_ && has_text_) observer_.on_text(channel, turn_separator);
  is_behind_call_ = false;
  has_text_ = true;
  text->text += piece;
  observer_.on_text(channel, piece);
}

std::optional<size_t> TurnReader::open_call() {
  if (calls_.size() >= turn_tool_calls_max) {
    fail(TurnFault::Kind::too_many_calls, "it called too many tools in one turn");
    return std::nullopt;
  }
  calls_.push_back(turn_.parts.size());
  is_behind_call_ = true;
  turn_.parts.emplace_back(ToolCall());
  return calls_.size() - 1;
}

void TurnReader::add_arguments(size_t nth, std::string_view piece) {
  if (!has_halves_ && !halves_.is_waiting()) return add_whole_arguments(nth, piece);
  add_whole_arguments(nth, halves_.joined(static_cast<int64_t>(nth), piece));
}

void TurnReader::add_whole_arguments(size_t nth, std::string_view piece) {
  if (!fault_ && count_bytes(piece.size())) call_at(nth).arguments += piece;
}

std::string TurnReader::whole_characters(int64_t stream, std::string_view piece) {
  if (!has_halves_ && !halves_.is_waiting()) return std::string(piece);
  return halves_.joined(stream, piece);
}

// Their second halves never came.
void TurnReader::end_halves() {
  if (!halves_.is_waiting()) return;
  constexpr std::string_view replacement = "\uFFFD";
  if (halves_.gave_up(answer_stream)) add_whole_text(TextChannel::answer, replacement);
  if (halves_.gave_up(thinking_stream)) add_whole_text(TextChannel::thinking, replacement);
  for (size_t nth = 0; nth < calls_.size(); ++nth) {
    if (halves_.gave_up(static_cast<int64_t>(nth))) add_whole_arguments(nth, replacement);
  }
}

bool TurnReader::count_opaque(size_t bytes) {
  opaque_bytes_ += bytes;
  if (opaque_bytes_ > turn_bytes_max) {
    fail(TurnFault::Kind::too_long, "the answer is over 4 MiB");
  }
  return !fault_;
}

void TurnReader::set_call_opaque(size_t nth, std::string data) {
  if (count_opaque(data.size())) call_opaque_[nth] = std::move(data);
}

size_t TurnReader::open_block() {
  turn_.parts.emplace_back(OpaquePart{OpaquePart::Place::block, {}});
  return turn_.parts.size() - 1;
}

bool TurnReader::are_counts(const Json& usage, std::initializer_list<std::string_view> names) {
  return std::all_of(names.begin(), names.end(), [&usage](std::string_view name) {
    const Json* count = usage.find(name);
    if (count == nullptr || count->is_null() || count->is_integer()) return true;
    std::optional<double> number = count->as_number();
    return number && std::abs(*number) <= static_cast<double>(tokens_max);
  });
}

// Some servers write whole numbers as floats.
int64_t TurnReader::tokens_in(const Json& usage, std::string_view name, int64_t fallback) {
  const Json* count = usage.find(name);
  std::optional<double> number = count == nullptr ? std::nullopt : count->as_number();
  if (!number) return fallback;
  constexpr double bound = static_cast<double>(tokens_max);
  return static_cast<int64_t>(std::round(std::clamp(*number, 0.0, bound)));
}

void TurnReader::set_usage(ModelUsage usage) {
  usage.input_tokens = std::clamp(usage.input_tokens, int64_t{0}, tokens_max);
  usage.output_tokens = std::clamp(usage.output_tokens, int64_t{0}, tokens_max);
  usage.cache_read_tokens = std::clamp(usage.cache_read_tokens, int64_t{0}, usage.input_tokens);
  usage.cache_write_tokens = std::clamp(usage.cache_write_tokens, int64_t{0},
                                        usage.input_tokens - usage.cache_read_tokens);
  if (usage.input_tokens == 0 && usage.output_tokens == 0) return;
  turn_.usage = usage;
}

std::unique_ptr<TurnReader> make_turn_reader(ProviderKind kind, ModelTurn& turn,
                                             ModelObserver& observer) {
  if (kind == ProviderKind::anthropic) return std::make_unique<AnthropicReader>(turn, observer);
  return std::make_unique<OpenAiReader>(turn, observer);
}

}  // namespace hostler
