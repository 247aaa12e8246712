// See runner/agent/conversation.h.
#include "runner/agent/conversation.h"

#include <algorithm>
#include <charconv>

#include "lib/json.h"

namespace hostler::runner {
namespace {

constexpr std::string_view left_out =
    R"({"note":"left out: the conversation is longer than the model takes"})";
constexpr std::string_view cut_mark = "… (cut: it is longer than the model takes)";

size_t bytes_of(const ChatMessage& message) {
  size_t bytes = message.text.size();
  for (const ToolCall& call : message.tool_calls) {
    bytes += call.id.size() + call.name.size() + call.arguments.size();
  }
  return bytes;
}

// What is left of a budget.
class Room {
 public:
  explicit Room(int64_t bytes) : bytes_(std::max<int64_t>(bytes, 0)) {}
  bool take(size_t bytes) {
    if (static_cast<int64_t>(bytes) > bytes_) return false;
    bytes_ -= static_cast<int64_t>(bytes);
    return true;
  }
  void take_at_most(size_t bytes) { bytes_ -= std::min(static_cast<int64_t>(bytes), bytes_); }
  size_t bytes() const { return static_cast<size_t>(bytes_); }

 private:
  int64_t bytes_;
};

// The shortest stay whole; what they leave of their share is the longer ones'.
void cut_results(Exchange& exchange, Room& room) {
  std::vector<ChatMessage*> by_length;
  for (ChatMessage& result : exchange.results) by_length.push_back(&result);
  std::sort(by_length.begin(), by_length.end(), [](const ChatMessage* a, const ChatMessage* b) {
    return a->text.size() < b->text.size();
  });
  for (size_t i = 0; i < by_length.size(); ++i) {
    std::string& text = by_length[i]->text;
    size_t share = room.bytes() / (by_length.size() - i);
    if (text.size() > std::max(share, cut_mark.size())) {
      size_t kept = share > cut_mark.size() ? share - cut_mark.size() : 0;
      text = std::string(utf8_prefix(text, kept)) + std::string(cut_mark);
    }
    room.take_at_most(text.size());
  }
}

// Without its results, but for a note in each one's place.
size_t stub_bytes(const Exchange& exchange) {
  size_t bytes = bytes_of(exchange.answer);
  for (const ChatMessage& result : exchange.results) {
    bytes += std::min(result.text.size(), left_out.size());
  }
  return bytes;
}

void leave_results_out(Exchange& exchange) {
  for (ChatMessage& result : exchange.results) {
    if (result.text.size() > left_out.size()) result.text = left_out;
  }
}

// The first exchange that stays. What was called before is told in at most half of the room; the
// newest results come next, then the older ones', as many as still fit.
size_t fit_exchanges(std::vector<Exchange>& exchanges, Room& room) {
  if (exchanges.empty()) return 0;
  size_t newest = exchanges.size() - 1;
  size_t first = newest;
  room.take_at_most(bytes_of(exchanges[newest].answer));
  Room for_stubs(static_cast<int64_t>(room.bytes() / 2));
  while (first > 0 && for_stubs.take(stub_bytes(exchanges[first - 1]))) {
    room.take(stub_bytes(exchanges[--first]));
  }
  cut_results(exchanges[newest], room);
  bool is_whole = true;
  for (size_t i = newest; i-- > first;) {
    is_whole = is_whole && room.take(exchanges[i].bytes() - stub_bytes(exchanges[i]));
    if (!is_whole) leave_results_out(exchanges[i]);
  }
  return first;
}

}  // namespace

size_t Exchange::bytes() const {
  size_t bytes = bytes_of(answer);
  for (const ChatMessage& result : results) bytes += bytes_of(result);
  return bytes;
}

std::vector<ChatMessage> fitted_messages(const std::string& system_prompt,
                                         const std::vector<ChatMessage>& history,
                                         std::vector<Exchange> exchanges, int64_t bytes_max) {
  Room room(bytes_max);
  room.take_at_most(system_prompt.size());
  // What the run is about comes before what it found.
  size_t from = history.size();
  if (from > 0) room.take_at_most(bytes_of(history[--from]));
  size_t first = fit_exchanges(exchanges, room);
  bool has_all = first == 0;
  while (has_all && from > 0 && room.take(bytes_of(history[from - 1]))) --from;

  std::vector<ChatMessage> all;
  if (!system_prompt.empty()) all.push_back({ChatRole::system, system_prompt});
  all.insert(all.end(), history.begin() + static_cast<ptrdiff_t>(from), history.end());
  for (size_t i = first; i < exchanges.size(); ++i) {
    all.push_back(std::move(exchanges[i].answer));
    for (ChatMessage& result : exchanges[i].results) all.push_back(std::move(result));
  }
  return all;
}

int64_t history_bytes_max(int64_t context_tokens) {
  // Of any model (contract section 4): what is read is held, and sent again every turn.
  constexpr int64_t bytes_max = 16 << 20;
  return std::min(context_tokens / 4 * 3 * 3, bytes_max);
}

std::vector<ChatMessage> history_of(const postgres::Result& rows) {
  std::vector<ChatMessage> messages;
  for (int i = rows.size() - 1; i >= 0; --i) {
    ChatMessage message;
    bool is_answer = rows[i].text("role") == "assistant";
    message.role = is_answer ? ChatRole::assistant : ChatRole::user;
    message.text = rows[i].text("content");
    messages.push_back(std::move(message));
  }
  return messages;
}

std::optional<std::vector<ChatMessage>> history_of(std::string_view packed) {
  std::vector<ChatMessage> messages;
  while (!packed.empty()) {
    ChatMessage& message = messages.emplace_back();
    message.role = packed.front() == 'a' ? ChatRole::assistant : ChatRole::user;
    size_t bytes = 0;
    const char* end = packed.data() + packed.size();
    auto [behind, fault] = std::from_chars(packed.data() + 1, end, bytes);
    if (fault != std::errc() || behind == end || *behind != ':') return std::nullopt;
    packed.remove_prefix(static_cast<size_t>(behind - packed.data()) + 1);
    if (bytes > packed.size()) return std::nullopt;
    message.text = packed.substr(0, bytes);
    packed.remove_prefix(bytes);
  }
  std::reverse(messages.begin(), messages.end());
  return messages;
}

std::string tool_calls_json(const std::vector<ToolCall>& calls) {
  JsonWriter json;
  json.begin_array();
  for (const ToolCall& call : calls) {
    json.begin_object();
    json.member("id", call.id).member("name", call.name).member("arguments", call.arguments);
    json.end_object();
  }
  return json.end_array().take();
}

std::vector<ToolCall> tool_calls_from(std::string_view json) {
  std::vector<ToolCall> calls;
  std::optional<Json> parsed = parse_json_or_nothing(json);
  if (!parsed || !parsed->is_array()) return calls;
  for (const Json& item : *parsed->as_array()) {
    ToolCall call;
    call.id = item.text_or("id");
    call.name = item.text_or("name");
    call.arguments = item.text_or("arguments");
    calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace hostler::runner
