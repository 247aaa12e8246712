// Committed events of one run on their way from the commit to those who follow it, in no format:
// what they are as bytes is made of them by lib/formats, once for each format. Made by the runner
// for live events and by the relay for stored ones; once shared it never changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hostler::events {

// An event of this type is the last of its run (contract section 4).
constexpr bool is_terminal_event(std::string_view type) {
  return type == "run.completed" || type == "run.failed" || type == "run.cancelled";
}

// The turn is made again: text after the event's discard_after_seq is void (contract section 4).
constexpr bool is_voiding_event(std::string_view type) {
  return type == "run.resumed" || type == "run.fell_back" || type == "output.repair";
}

struct EventView {
  int64_t seq = 0;
  std::string_view type;
  std::string_view data_json;   // one JSON value as it is stored
  std::string_view created_at;  // RFC 3339
  std::string_view usage_json;  // of the last event, where somebody asked: what the run took
};

class EventBatch {
 public:
  explicit EventBatch(std::string run_id) : run_id_(std::move(run_id)) {}

  // The run's next event: numbers ascend.
  void append(int64_t seq, std::string_view type, std::string_view data_json,
              std::string_view created_at, std::string_view usage_json = {});
  // The events of another batch of the run, which begins behind this one's last.
  void append(const EventBatch& next);
  // Number of bytes that will be appended, as bytes() counts them.
  void reserve(size_t bytes) { texts_.reserve(bytes); }

  const std::string& run_id() const { return run_id_; }
  bool is_empty() const { return events_.empty(); }
  size_t size() const { return events_.size(); }
  EventView operator[](size_t index) const;
  int64_t first_seq() const { return is_empty() ? 0 : events_.front().seq; }
  int64_t last_seq() const { return is_empty() ? 0 : events_.back().seq; }
  // The last event is the run's last.
  bool ends_run() const { return !is_empty() && is_terminal_event((*this)[size() - 1].type); }
  // The discard_after_seq of the newest run.resumed in it, or 0 without one.
  int64_t resumed_seq() const { return resumed_seq_; }
  // Size in memory and, roughly, on the wire.
  size_t bytes() const { return texts_.size() + events_.size() * bytes_of_an_event; }

 private:
  // The texts stand one behind the other: type, data, creation, usage.
  struct Place {
    int64_t seq;
    size_t begin;
    size_t data_bytes;
    uint32_t type_bytes;
    uint32_t created_bytes;
    uint32_t usage_bytes;
  };
  // Bytes that a frame of the event stream adds to its texts.
  static constexpr size_t bytes_of_an_event = 64;

  std::string run_id_;
  int64_t resumed_seq_ = 0;
  std::string texts_;
  std::vector<Place> events_;
};

using SharedBatch = std::shared_ptr<const EventBatch>;

}  // namespace hostler::events
