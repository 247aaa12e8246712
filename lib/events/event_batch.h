// Committed events of one run, from the commit to the socket: the bytes of their frames, made once,
// and where each frame begins, so that nobody reads a number back from the wire's text. Made by the
// runner for live events and by the relay for stored ones; once shared it never changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hostler::events {

class EventBatch {
 public:
  explicit EventBatch(std::string run_id) : run_id_(std::move(run_id)) {}

  // The run's next event: numbers ascend. See append_frame for the texts.
  void append(int64_t seq, std::string_view type, std::string_view data_json,
              std::string_view created_at);
  // The events of another batch of the run, which begins behind this one's last.
  void append(const EventBatch& next);
  // How many bytes of frames will be appended, about.
  void reserve(size_t bytes) { frames_.reserve(bytes); }

  const std::string& run_id() const { return run_id_; }
  bool is_empty() const { return last_seq_ == 0; }
  int64_t first_seq() const { return first_seq_; }
  int64_t last_seq() const { return last_seq_; }
  // Of the newest run.resumed in it; 0: none.
  int64_t resumed_seq() const { return resumed_seq_; }
  // The last event is the run's terminal one.
  bool is_final() const { return is_final_; }
  // All frames as they stand on the wire (lib/events/sse_frame.h).
  const std::string& frames() const { return frames_; }
  // Those of the events behind the one with this number.
  std::string_view frames_after(int64_t seq) const;

 private:
  struct Begin {
    int64_t seq;
    size_t offset;
  };

  std::string run_id_;
  int64_t first_seq_ = 0;
  int64_t last_seq_ = 0;
  int64_t resumed_seq_ = 0;
  bool is_final_ = false;
  std::string frames_;
  std::vector<Begin> begins_;  // of all but the first: most batches are one event
};

using SharedBatch = std::shared_ptr<const EventBatch>;

}  // namespace hostler::events
