// See runner/agent/conversation.h.
#include "runner/agent/conversation.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>

#include "lib/json.h"
#include "lib/utf8.h"

namespace hostler::runner {
namespace {

constexpr std::string_view earlier_left_out = "(Earlier messages are left out.)";
constexpr std::string_view cut_mark = "… (cut: it is too long for the model)";

size_t bytes_of(const ChatMessage& message) {
  return message.name.size() + bytes_of(message.parts);
}

bool is_of_system(const ChatMessage& message) { return message.role == ChatRole::system; }

// Size of a history's messages besides the system's texts, which count with the prompt. System
// texts are always sent.
size_t said_bytes(const ChatMessage& message) {
  return is_of_system(message) ? 0 : bytes_of(message);
}

size_t system_bytes_of(const std::string& prompt, const std::vector<ChatMessage>& history) {
  size_t bytes = prompt.size();
  for (const ChatMessage& message : history) bytes += bytes_of(message) - said_bytes(message);
  return bytes;
}

// Rest of a budget.
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

constexpr size_t nothing = std::string::npos;

// Part of a conversation that is sent, as places in all of it. The additions of a turn are sent
// whole, after the text of the last turn, until that is too long. Only then a new plan is made.
struct Plan {
  size_t from = 0;           // the first message of the history
  size_t first = 0;          // the first exchange
  size_t whole = 0;          // the first with its results; before it, a note stands in each place
  size_t cut = nothing;      // an exchange whose results are cut
  std::vector<size_t> kept;  // of those, the bytes that are left; nothing: it is whole
  size_t bytes = 0;          // of everything that is sent
};

// The shortest stay whole; what they leave of their share is the longer ones'.
std::vector<size_t> cut_results(const Exchange& exchange, Room& room) {
  std::vector<size_t> by_length(exchange.results.size());
  for (size_t i = 0; i < by_length.size(); ++i) by_length[i] = i;
  std::stable_sort(by_length.begin(), by_length.end(), [&](size_t a, size_t b) {
    return exchange.results[a].first_text().size() < exchange.results[b].first_text().size();
  });
  std::vector<size_t> kept(exchange.results.size(), nothing);
  for (size_t i = 0; i < by_length.size(); ++i) {
    std::string_view text = exchange.results[by_length[i]].first_text();
    size_t share = room.bytes() / (by_length.size() - i);
    size_t bytes = text.size();
    if (bytes > std::max(share, cut_mark.size())) {
      size_t left = share > cut_mark.size() ? share - cut_mark.size() : 0;
      kept[by_length[i]] = utf8_prefix(text, left).size();
      bytes = kept[by_length[i]] + cut_mark.size();
    }
    room.take_at_most(bytes);
  }
  return kept;
}

// Without its results, but for a note in each one's place.
size_t stub_bytes(const Exchange& exchange) {
  size_t bytes = bytes_of(exchange.answer);
  for (const ChatMessage& result : exchange.results) {
    bytes += std::min(result.first_text().size(), left_out.size());
  }
  return bytes;
}

// Plan for the exchanges, of which the last is the newest. Earlier calls get at most half of the
// room. The newest results come next, then older ones, as many as fit into the part that the next
// turns do not need.
void fit_exchanges(const std::vector<Exchange>& exchanges, size_t count, Room& room, Plan& plan) {
  size_t newest = count - 1;
  plan.first = newest;
  room.take_at_most(bytes_of(exchanges[newest].answer));
  Room for_stubs(static_cast<int64_t>(room.bytes() / 2));
  while (plan.first > 0 && for_stubs.take(stub_bytes(exchanges[plan.first - 1]))) {
    room.take(stub_bytes(exchanges[--plan.first]));
  }
  plan.cut = newest;
  plan.kept = cut_results(exchanges[newest], room);
  plan.whole = newest;
}

// Rest of a budget after the newest exchange, without the part that stays free for the next turns:
// a quarter of the budget, or half of the rest.
Room room_for_older(const Room& left, int64_t bytes_max) {
  int64_t bytes = static_cast<int64_t>(left.bytes());
  return Room(std::max(bytes - bytes_max / 4, bytes / 2));
}

// A number that tells messages apart, the same in every daemon. Of long texts the head is enough.
uint64_t mark_of(const ChatMessage& message) {
  constexpr size_t head_bytes = 256;
  uint64_t mark = 14695981039346656037U + static_cast<uint64_t>(message.role);
  auto add = [&mark](uint64_t value) { mark = (mark ^ value) * 1099511628211U; };
  std::string_view text = message.first_text();
  add(text.size());
  for (char c : text.substr(0, head_bytes)) {
    add(static_cast<unsigned char>(c));
  }
  for (const Part& part : message.parts) {
    const ImagePart* image = std::get_if<ImagePart>(&part);
    if (image == nullptr) continue;
    for (char c : image->file_id) add(static_cast<unsigned char>(c));
  }
  // FNV-1a's high bits hardly know of the last bytes.
  return (mark ^ (mark >> 32)) * 0x9E3779B97F4A7C15U >> 1;
}

// Where the newest of a history begins that is no empty one: the last message that is no system
// text, or the one whose calls that one and those before it answer.
size_t newest_of(const std::vector<ChatMessage>& history) {
  size_t newest = history.size() - 1;
  while (newest > 0 && (history[newest].role == ChatRole::tool || is_of_system(history[newest]))) {
    --newest;
  }
  return newest;
}

// Where a history begins that is cut: so that between half of the room and all of it is filled, at
// the user's message with the least mark. The next runs of the thread, whose histories are a little
// longer, mostly find the same one, so that what they send begins with the same bytes.
size_t cut_history(const std::vector<ChatMessage>& history, Room room, size_t messages_max) {
  const size_t messages_kept_max = messages_max / 4 * 3;
  size_t newest = newest_of(history);
  size_t bytes = 0;
  size_t from = newest;
  uint64_t least = std::numeric_limits<uint64_t>::max();
  for (size_t i = newest; i-- > 0;) {
    bytes += said_bytes(history[i]);
    size_t count = newest - i;
    if (bytes > room.bytes() || count > messages_kept_max) break;
    if (history[i].role != ChatRole::user) continue;
    bool is_half = bytes >= room.bytes() / 2 || count >= messages_kept_max / 2;
    uint64_t mark = is_half ? mark_of(history[i]) : least;
    if (mark <= least) {
      from = i;
      least = mark;
    }
  }
  return from;
}

// Providers want the user to have the first word; a history that was cut may begin with another's.
bool needs_first_word(const Plan& plan, const std::vector<ChatMessage>& history) {
  return plan.from > 0 && plan.from < history.size() && history[plan.from].role != ChatRole::user;
}

class Planner {
 public:
  Planner(const std::string& system_prompt, const std::vector<ChatMessage>& history,
          const std::vector<Exchange>& exchanges, int64_t bytes_max, size_t messages_max)
      : system_bytes_(system_bytes_of(system_prompt, history)),
        history_(history),
        exchanges_(exchanges),
        bytes_max_(bytes_max),
        messages_max_(messages_max) {}

  // The plan of the turn behind all exchanges, found by going through the turns before it.
  Plan plan() const {
    Plan plan;
    plan.bytes = system_bytes_;
    for (const ChatMessage& message : history_) plan.bytes += said_bytes(message);
    // Longer ones are read in part.
    if (is_over(plan) || history_.size() >= messages_max_) plan = fitted(0);
    for (size_t count = 1; count <= exchanges_.size(); ++count) {
      plan.bytes += exchanges_[count - 1].bytes();
      if (is_over(plan)) plan = fitted(count);
    }
    return plan;
  }

 private:
  bool is_over(const Plan& plan) const {
    return static_cast<int64_t>(plan.bytes) > std::max<int64_t>(bytes_max_, 0);
  }

  Plan fitted(size_t count) const {
    Plan plan;
    Room room(bytes_max_);
    room.take_at_most(system_bytes_ + earlier_left_out.size());
    // The subject of the run comes before its results.
    size_t newest = history_.empty() ? 0 : newest_of(history_);
    for (size_t i = newest; i < history_.size(); ++i) room.take_at_most(said_bytes(history_[i]));
    if (count > 0) fit_exchanges(exchanges_, count, room, plan);
    Room older = room_for_older(room, bytes_max_);
    while (plan.whole > plan.first && older.take(result_bytes(exchanges_[plan.whole - 1]))) {
      --plan.whole;
    }
    plan.from = newest;
    if (plan.from > 0 && plan.first == 0) plan.from = history_from(older);
    plan.bytes = planned_bytes(plan, count);
    return plan;
  }

  // Size of the results beyond the notes that replace them.
  static size_t result_bytes(const Exchange& exchange) {
    return exchange.bytes() - stub_bytes(exchange);
  }

  // The exchanges come first: a history that fits beside them stays whole.
  size_t history_from(const Room& room) const {
    size_t bytes = 0;
    for (size_t i = newest_of(history_); i-- > 0;) bytes += said_bytes(history_[i]);
    bool is_whole = bytes <= room.bytes() && history_.size() < messages_max_;
    return is_whole ? 0 : cut_history(history_, room, messages_max_);
  }

  size_t planned_bytes(const Plan& plan, size_t count) const {
    size_t bytes = system_bytes_;
    if (needs_first_word(plan, history_)) bytes += earlier_left_out.size();
    for (size_t i = plan.from; i < history_.size(); ++i) bytes += said_bytes(history_[i]);
    for (size_t i = plan.first; i < count; ++i) {
      bytes += i < plan.whole ? stub_bytes(exchanges_[i]) : exchanges_[i].bytes();
    }
    for (size_t i = 0; i < plan.kept.size(); ++i) {
      if (plan.kept[i] == nothing) continue;
      bytes -= exchanges_[plan.cut].results[i].first_text().size();
      bytes += plan.kept[i] + cut_mark.size();
    }
    return bytes;
  }

  size_t system_bytes_;
  const std::vector<ChatMessage>& history_;
  const std::vector<Exchange>& exchanges_;
  int64_t bytes_max_;
  size_t messages_max_;
};

// Texts and images of a message. Texts in a row are one text, as in the message's content.
Parts shown_parts(const postgres::Row& row) {
  Parts shown;
  if (row.is_null("parts")) return shown;
  for (Part& part : parts_from(row.text("parts"))) {
    ImagePart* image = std::get_if<ImagePart>(&part);
    if (image == nullptr) {
      if (const TextPart* text = std::get_if<TextPart>(&part)) add_line(shown, text->text);
    } else if (image->is_deleted) {
      add_line(shown, deleted_image);
    } else {
      image->message_id = row.text("id");
      shown.push_back(std::move(part));
    }
  }
  return shown;
}

// Builds the messages of the plan.
void add_exchange(const Plan& plan, size_t nth, Exchange exchange, std::vector<ChatMessage>& all) {
  all.push_back(std::move(exchange.answer));
  for (size_t i = 0; i < exchange.results.size(); ++i) {
    std::string& text = exchange.results[i].first_text();
    if (nth < plan.whole && text.size() > left_out.size()) text = left_out;
    if (nth == plan.cut && plan.kept[i] != nothing) {
      text.resize(plan.kept[i]);
      text += cut_mark;
    }
    all.push_back(std::move(exchange.results[i]));
  }
}

}  // namespace

size_t Exchange::bytes() const {
  size_t bytes = bytes_of(answer);
  for (const ChatMessage& result : results) bytes += bytes_of(result);
  return bytes;
}

std::vector<ChatMessage> fitted_messages(const std::string& system_prompt,
                                         const std::vector<ChatMessage>& history,
                                         std::vector<Exchange> exchanges, int64_t bytes_max,
                                         size_t messages_max) {
  Plan plan = Planner(system_prompt, history, exchanges, bytes_max, messages_max).plan();
  std::vector<ChatMessage> all;
  if (!system_prompt.empty()) all.push_back({ChatRole::system, system_prompt});
  std::copy_if(history.begin(), history.begin() + static_cast<ptrdiff_t>(plan.from),
               std::back_inserter(all), is_of_system);
  if (needs_first_word(plan, history)) {
    all.emplace_back(ChatRole::user, std::string(earlier_left_out));
  }
  all.insert(all.end(), history.begin() + static_cast<ptrdiff_t>(plan.from), history.end());
  for (size_t i = plan.first; i < exchanges.size(); ++i) {
    add_exchange(plan, i, std::move(exchanges[i]), all);
  }
  return all;
}

int64_t history_bytes_max(int64_t context_tokens) {
  // Limit for any model (contract section 4), because the text is kept in memory and sent again
  // every turn.
  constexpr int64_t bytes_max = 16 << 20;
  return std::min(context_tokens / 4 * 3 * 3, bytes_max);
}

std::vector<ChatMessage> history_of(const postgres::Result& rows) {
  std::vector<ChatMessage> messages;
  for (int i = rows.size() - 1; i >= 0; --i) {
    bool is_answer = rows[i].text("role") == "assistant";
    ChatRole role = is_answer ? ChatRole::assistant : ChatRole::user;
    Parts parts = shown_parts(rows[i]);
    if (parts.empty()) parts.push_back(TextPart{std::string(rows[i].text("content"))});
    messages.emplace_back(role, std::move(parts));
    messages.back().run_id = rows[i].text_or_null("turns_of").value_or("");
  }
  return messages;
}

std::optional<std::vector<ChatMessage>> history_of(std::string_view packed) {
  std::vector<ChatMessage> messages;
  while (!packed.empty()) {
    constexpr size_t id_bytes = 36;
    bool has_turns = packed.front() == 'A';
    ChatRole role = has_turns || packed.front() == 'a' ? ChatRole::assistant : ChatRole::user;
    packed.remove_prefix(1);
    std::string run_id(has_turns ? packed.substr(0, id_bytes) : std::string_view());
    packed.remove_prefix(run_id.size());
    size_t bytes = 0;
    const char* end = packed.data() + packed.size();
    auto [behind, fault] = std::from_chars(packed.data(), end, bytes);
    if (fault != std::errc() || behind == end || *behind != ':') return std::nullopt;
    packed.remove_prefix(static_cast<size_t>(behind - packed.data()) + 1);
    if (bytes > packed.size()) return std::nullopt;
    messages.emplace_back(role, std::string(packed.substr(0, bytes)));
    messages.back().run_id = std::move(run_id);
    packed.remove_prefix(bytes);
  }
  std::reverse(messages.begin(), messages.end());
  return messages;
}

}  // namespace hostler::runner
