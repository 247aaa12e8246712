// See runner/mcp/event_reader.h.
#include "runner/mcp/event_reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace hostler::runner {
namespace {

constexpr size_t id_bytes_max = 1024;
constexpr int64_t retry_max_ms = 600'000;

}  // namespace

void EventReader::feed(std::string_view bytes) {
  for (char c : bytes) {
    if (is_too_long_) return;
    bool is_end = c == '\n' || c == '\r';
    if (c == '\n' && std::exchange(after_return_, false)) continue;
    after_return_ = c == '\r';
    if (!is_end) {
      line_ += c;
      is_too_long_ = line_.size() > event_bytes_max_;
      continue;
    }
    std::string line = std::exchange(line_, {});
    std::string_view text = line;
    if (std::exchange(at_start_, false) && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    take_line(text);
  }
}

void EventReader::begin_again() {
  line_.clear();
  data_.clear();
  has_data_ = false;
  after_return_ = false;
  at_start_ = true;
  id_ = last_id_;
}

void EventReader::take_line(std::string_view line) {
  if (line.empty()) {
    last_id_ = id_;
    // An event that only sets an id or a time is not a message.
    if (has_data_ && !data_.empty()) events_.push_back(std::move(data_));
    data_.clear();
    has_data_ = false;
    return;
  }
  size_t colon = std::min(line.find(':'), line.size());
  std::string_view name = line.substr(0, colon);
  std::string_view value = line.substr(std::min(colon + 1, line.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "data") {
    if (std::exchange(has_data_, true)) data_ += '\n';
    data_ += value;
    is_too_long_ = data_.size() > event_bytes_max_;
  } else if (name == "id" && value.size() <= id_bytes_max &&
             std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~'; })) {
    id_ = value;
  } else if (name == "retry") {
    int64_t ms = 0;
    auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), ms);
    if (fault == std::errc() && end == value.data() + value.size() && ms >= 0) {
      retry_ms_ = std::min(ms, retry_max_ms);
    }
  }
}

std::optional<std::string> EventReader::next() {
  if (events_.empty()) return std::nullopt;
  std::string event = std::move(events_.front());
  events_.pop_front();
  return event;
}

}  // namespace hostler::runner
