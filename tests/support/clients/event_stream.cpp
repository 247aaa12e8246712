// See tests/support/clients/event_stream.h.
#include "tests/support/clients/event_stream.h"

#include <gtest/gtest.h>

#include <charconv>

#include "lib/events/event_batch.h"

namespace hostler::testing_support {
namespace {

constexpr std::string_view number_field = "id: ";
constexpr std::string_view data_field = "\ndata: ";

int64_t number_of(std::string_view frame) {
  int64_t number = -1;
  frame.remove_prefix(number_field.size());
  std::from_chars(frame.data(), frame.data() + frame.size(), number);
  return number;
}

std::string_view payload_of(std::string_view frame) {
  size_t at = frame.find(data_field);
  if (at == std::string_view::npos) return {};
  at += data_field.size();
  return frame.substr(at, frame.find('\n', at) - at);
}

}  // namespace

std::vector<std::string_view> EventStream::each() const {
  std::vector<std::string_view> found;
  std::string_view left = text;
  for (size_t end = left.find("\n\n"); end != left.npos; end = left.find("\n\n")) {
    if (left.starts_with(number_field)) found.push_back(left.substr(0, end + 2));
    left.remove_prefix(end + 2);
  }
  return found;
}

std::string EventStream::frames() const {
  std::string all;
  for (std::string_view frame : each()) all += frame;
  return all;
}

std::vector<int64_t> EventStream::seqs() const {
  std::vector<int64_t> numbers;
  for (std::string_view frame : each()) numbers.push_back(number_of(frame));
  return numbers;
}

std::vector<Json> EventStream::events() const {
  std::vector<Json> events;
  for (std::string_view frame : each()) {
    std::optional<Json> event = parse_json_or_nothing(payload_of(frame));
    EXPECT_TRUE(event) << frame.substr(0, 500);
    if (!event) continue;
    EXPECT_EQ(event->integer_or("seq", -1), number_of(frame));
    events.push_back(std::move(*event));
  }
  return events;
}

std::string EventStream::types() const {
  std::string types;
  for (const Json& event : events()) {
    std::string_view type = event.text_or("type");
    if (type == "message.delta") continue;
    types += (types.empty() ? "" : " ") + std::string(type);
  }
  return types;
}

int64_t EventStream::last_seq() const {
  std::vector<std::string_view> all = each();
  return all.empty() ? 0 : number_of(all.back());
}

bool EventStream::has_ended() const {
  std::vector<std::string_view> all = each();
  std::optional<Json> last =
      all.empty() ? std::nullopt : parse_json_or_nothing(payload_of(all.back()));
  return last && events::is_terminal_event(last->text_or("type"));
}

}  // namespace hostler::testing_support
