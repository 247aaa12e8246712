// Meaning of a run's events for its message in the AI SDK's form: a state that each event changes
// and that decides what to show. This is the one place that knows it; see ui_sink.h.
//
// A step is a turn of the model. A call is shown when it is known who makes it: at once, but not
// where the run's facts name its tool, since a person or the client may have to be asked first, one
// call at a time, and clients go on when all calls they were shown have what they lack.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/events/event_batch.h"
#include "lib/formats/encoder.h"
#include "lib/formats/growing_text.h"
#include "lib/formats/ui_sink.h"
#include "lib/json.h"

namespace hostler::formats {

class UiRun {
 public:
  // Its facts: {held: [names of tools whose calls wait to be shown]}, as sql/schema/ui_chats.sql
  // makes it. Empty: none.
  explicit UiRun(const RunFacts& run);

  // True: the stream ends with it, since the run ended, waits for its client or a person, or took
  // back what is out.
  [[nodiscard]] bool take(const events::EventView& event, UiSink& sink);

 private:
  struct Text {
    UiText kind;
    std::string id;
  };
  struct Pending {
    Text text;
    GrowingText content;
  };
  struct Call {
    std::string tool_name;
    std::shared_ptr<const std::string> input;
    bool is_shown = false;
    bool is_of_client = false;
    std::string approval_id = {};  // once it was asked for
    bool is_question = false;
  };
  using Calls = std::map<std::string, Call, std::less<>>;

  void start(const events::EventView& event, const Json& data, UiSink& sink);
  void begin_turn(UiSink& sink);
  void end_step(UiSink& sink);
  void add_delta(int64_t seq, const Json& data, UiSink& sink);
  void show_text(const Text& text, std::string_view content, UiSink& sink);
  void close_text(UiSink& sink);
  void show_pending(UiSink& sink);
  void add_call(const Json& data, UiSink& sink);
  void show_call(const std::string& id, Call& call, UiRunner runner, UiSink& sink);
  void add_result(const Json& data, UiSink& sink);
  void show_question(const std::string& id, const Call& call, const Json* answer, UiSink& sink);
  bool wait(const Json& data, UiSink& sink);
  bool show_awaited(const Json& data, UiSink& sink);
  bool discard(int64_t behind_seq, UiSink& sink);
  void finish(const events::EventView& event, const Json& data, UiSink& sink);

  std::shared_ptr<const std::set<std::string, std::less<>>> held_tools_;
  bool is_checked_;

  bool is_started_ = false;
  bool is_waiting_ = false;  // behind an end that was shown
  Cut cut_ = Cut::none;
  bool is_in_turn_ = false;
  bool is_step_open_ = false;
  bool has_calls_ = false;       // the turn; then its text is whole
  bool takes_calls_ = false;     // the event before was one of its calls
  bool has_shown_text_ = false;  // of the turn
  int64_t last_delta_seq_ = 0;
  std::optional<Text> open_text_;
  std::vector<Pending> pending_;  // of the turn, while it is not known whether it fits
  Calls calls_;                   // that lack their results
};

}  // namespace hostler::formats
