// Runs in the form of the AI SDK (npm: ai), for its useChat: as a UI message stream, and as the
// message that stands in the end. What the events mean is said once, by UiRun; so a stream that was
// followed from the beginning, one that was taken up again and the message read later are the same.
//
// A stream ends where its run waits: the client answers by its next request, whose answer goes on
// with the same message. One that is taken up begins with what counts of all that is stored, each
// text whole, and goes on live.
#pragma once

#include <string>
#include <string_view>

#include "lib/error.h"
#include "lib/events/event_batch.h"
#include "lib/formats/encoder.h"
#include "lib/formats/ui_parts.h"
#include "lib/formats/ui_run.h"

namespace hostler::formats {

EncoderState begin_ui_chat(const RunFacts& run);
// The same as RunFacts::stored_seq.
EncoderState begin_ui_chat_replay(const RunFacts& run);
std::string ui_error_frames(const Error& error);

// The message of one run, from its events.
class UiMessage {
 public:
  explicit UiMessage(const RunFacts& run) : run_(run), message_id_(run.run_id) {}

  // Its next event.
  void take(const events::EventView& event) { static_cast<void>(run_.take(event, parts_)); }
  // Message for a run that never began.
  bool is_empty() const { return parts_.is_empty(); }
  std::string json() const { return parts_.message_json(message_id_); }

 private:
  UiRun run_;
  UiParts parts_;
  std::string message_id_;
};

}  // namespace hostler::formats
