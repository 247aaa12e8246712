// What all wire forms share. See runner/models/turn_reader.h.
#include "runner/models/turn_reader.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include <fmt/format.h>

#include "lib/ascii.h"
#include "lib/crypto.h"
#include "lib/json_whole.h"
#include "runner/models/anthropic.h"
#include "runner/models/openai.h"

namespace hostler {
namespace {

// Of one kind in one turn.
constexpr int64_t tokens_max = 1'000'000'000;

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

bool TurnReader::take_parsed(std::string_view text, std::optional<Json>& document) {
  if (fault_ || saw_last_event_) return false;
  document = parse_lenient_json(text);
  if (!document || !document->is_object()) {
    fail(TurnFault::Kind::bad_response, 0, "it sent something that is not a JSON object");
    return false;
  }
  if (std::optional<ProviderError> error = read_provider_error(*document)) {
    fail(TurnFault::Kind::provider_error, error->status, error->message);
    return false;
  }
  return true;
}

void TurnReader::read_event(std::string_view text) {
  if (text.find_first_not_of(" \t") == std::string_view::npos) return;
  if (is_last_event(text)) {
    if (!fault_) mark_last_event();
    return;
  }
  std::optional<Json> event;
  if (take_parsed(text, event)) take_event(*event);
}

void TurnReader::read_document(std::string_view text) {
  std::optional<Json> document;
  if (!take_parsed(text, document)) return;
  take_document(*document);
  if (!fault_ && !is_complete()) {
    fail(TurnFault::Kind::bad_response, 0, "it sent JSON that is no answer");
  }
}

void TurnReader::end() {
  std::unordered_set<std::string> ids;
  for (ToolCall& call : turn_.tool_calls) {
    if (call.name.empty() && !fault_) {
      fail(TurnFault::Kind::bad_response, 0, "it called a tool without naming it");
    }
    // Results are told apart by the id: a server that sends none, or one twice, gets one of ours.
    bool is_new = ids.insert(call.id).second;
    if (call.id.empty() || !is_new) call.id = "call_" + to_hex(random_bytes(12));
    if (call.arguments.empty()) call.arguments = "{}";
  }
  bound_arguments();
  if (!is_complete()) return;
  bool wants_tools = !turn_.tool_calls.empty();
  if (wants_tools && turn_.finish_reason == FinishReason::stop) {
    turn_.finish_reason = FinishReason::tool_calls;
  } else if (!wants_tools && turn_.finish_reason == FinishReason::tool_calls) {
    turn_.finish_reason = FinishReason::stop;
  }
}

// The loop that all runs of the daemon share reads them several times: when they are shown, checked
// and sent on. Whoever has a model of their own could keep it from all others with few bytes.
void TurnReader::bound_arguments() {
  size_t bytes = 0;
  size_t values = 0;
  for (ToolCall& call : turn_.tool_calls) {
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

// A server's own end mark completes a turn whose finish reason it forgot.
void TurnReader::mark_last_event() {
  saw_last_event_ = true;
  if (!is_complete()) finish(FinishReason::stop);
}

void TurnReader::fail(TurnFault::Kind kind, int status, std::string message) {
  if (!fault_) fault_ = TurnFault{kind, status, std::move(message)};
}

bool TurnReader::count_bytes(size_t count) {
  bytes_ += count;
  if (bytes_ > turn_bytes_max) {
    fail(TurnFault::Kind::too_long, 0, "the answer is over 4 MiB");
    return false;
  }
  if (!turn_.usage.measured) turn_.usage.output_tokens = tokens_of_bytes(bytes_);
  return true;
}

void TurnReader::add_text(TextChannel channel, std::string_view piece) {
  if (piece.empty() || fault_ || !count_bytes(piece.size())) return;
  (channel == TextChannel::answer ? turn_.text : turn_.thinking) += piece;
  observer_.on_text(channel, piece);
}

ToolCall* TurnReader::call_numbered(int64_t number) {
  auto found = call_numbers_.find(number);
  return found == call_numbers_.end() ? nullptr : &turn_.tool_calls[found->second];
}

ToolCall* TurnReader::open_call(int64_t number) {
  if (turn_.tool_calls.size() >= turn_tool_calls_max) {
    fail(TurnFault::Kind::too_many_calls, 0, "it called too many tools in one turn");
    return nullptr;
  }
  call_numbers_[number] = turn_.tool_calls.size();
  return &turn_.tool_calls.emplace_back();
}

void TurnReader::add_arguments(ToolCall& call, std::string_view piece) {
  if (!fault_ && count_bytes(piece.size())) call.arguments += piece;
}

bool TurnReader::are_counts(const Json& usage, std::initializer_list<std::string_view> names) {
  return std::all_of(names.begin(), names.end(), [&usage](std::string_view name) {
    const Json* count = usage.find(name);
    return count == nullptr || count->is_null() || whole_of(*count);
  });
}

int64_t TurnReader::tokens_in(const Json& usage, std::string_view name, int64_t fallback) {
  return std::clamp(usage.integer_or(name, fallback), int64_t{0}, tokens_max);
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

bool is_blank(std::string_view text) {
  return text.find_first_not_of(ascii::white_space) == std::string_view::npos;
}

std::string name_on_the_wire(std::string_view name) {
  constexpr size_t name_bytes_max = 64;
  std::string safe(name.substr(0, name_bytes_max));
  std::replace_if(
      safe.begin(), safe.end(),
      [](char c) { return !ascii::is_letter_or_digit(c) && c != '_' && c != '-'; }, '_');
  return safe.empty() ? "_" : safe;
}

int64_t estimate_input_tokens(const ModelRequest& request) {
  size_t bytes = 0;
  for (const ChatMessage& message : request.messages) {
    bytes += message.text.size();
    for (const ToolCall& call : message.tool_calls)
      bytes += call.name.size() + call.arguments.size();
  }
  for (const ToolDefinition& tool : request.tools) {
    bytes += tool.name.size() + tool.description.size() + tool.parameters.size();
  }
  if (const std::optional<ResponseFormat>& format = request.response_format) {
    bytes += format->schema.size() + format->description.size();
  }
  return tokens_of_bytes(bytes);
}

// Anthropic's mode takes schemas that name every member of every object and holds the model to
// them, which is what OpenAI calls strict; it has none for any object.
bool has_own_mode(ProviderKind kind, const ResponseFormat& format) {
  if (kind == ProviderKind::openai) return true;
  return format.has_schema && format.strict.value_or(false);
}

std::unique_ptr<TurnReader> make_turn_reader(ProviderKind kind, ModelTurn& turn,
                                             ModelObserver& observer) {
  if (kind == ProviderKind::anthropic) return std::make_unique<AnthropicReader>(turn, observer);
  return std::make_unique<OpenAiReader>(turn, observer);
}

}  // namespace hostler
