// Turns the events of a run into bytes of one wire format. An encoder is a state: what it must know
// of the events before to write the next one. It follows from these events alone, so a replay from
// the first event gives the same state and the same bytes. Formats are rows of
// lib/formats/formats.h; nothing here knows who follows, or how far they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lib/events/event_batch.h"

namespace hostler::formats {

// Text with which an encoder begins, the same for all subscribers of the run.
struct RunFacts {
  std::string_view run_id;
  // JSON that the API stored with the run (runs.client_facts): what its client said and wants said
  // again. Empty: nothing.
  std::string_view client_facts;
  // The run has a response format: its text leaves when it is known to fit.
  bool is_checked = false;
  // For a format that starts with stored events: the last event that was stored when the stream was
  // opened.
  int64_t stored_seq = 0;
};

class Encoder {
 public:
  virtual ~Encoder() = default;

  // Writes what the run's next event is on the wire: a frame, several or none. True: the stream
  // ends with it.
  [[nodiscard]] virtual bool append(const events::EventView& event, std::string& out) = 0;
  // The state as it is. Called for every batch: what grows with the run has to be shared.
  virtual std::shared_ptr<Encoder> copy() const = 0;
  // Answer that is held back until its last event.
  virtual int status() const { return 200; }
  // Likewise, of an error: whether another run might end better soon, so that its client may begin
  // one without being asked.
  virtual bool may_be_repeated() const { return false; }
  // Size of the state that it keeps of earlier events, if that grows with the run and exists while
  // frames of it wait to be read.
  virtual size_t kept_bytes() const { return 0; }
};

// States that are shared never change.
using EncoderState = std::shared_ptr<const Encoder>;

}  // namespace hostler::formats
