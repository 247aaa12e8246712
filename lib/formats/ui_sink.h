// Pieces of a run from which a message of the AI SDK is made. Called by UiRun
// (lib/formats/ui_run.h), in the order of the run's events. The sink turns them into chunks of a
// stream (ui_chunks.h) or parts of a message (ui_parts.h). The words are those of the SDK's
// protocol, "UI message stream" v1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/formats/answer_cut.h"

namespace hostler::formats {

enum class UiText : uint8_t { text, reasoning };

// Where a call is made.
enum class UiRunner : uint8_t {
  here,
  client,         // it is to answer, and is asked for the first time
  client_behind,  // likewise, of a call that was shown as one of ours before
};

struct UiCall {
  std::string_view id;
  std::string_view tool_name;
  std::string_view input;  // JSON
};

struct UiEnd {
  enum class Kind : uint8_t { waiting, completed, failed, cancelled, taken_back };
  Kind kind;
  std::string metadata = {};  // JSON object; empty: none
  std::string error = {};     // of failed and taken_back
  Cut cut = Cut::none;        // of completed
};

class UiSink {
 public:
  // The message begins, or goes on behind an end. metadata: JSON object; empty: none.
  virtual void start(std::string_view metadata) = 0;
  virtual void start_step() = 0;
  virtual void finish_step() = 0;
  virtual void start_text(UiText kind, std::string_view id) = 0;
  virtual void add_text(UiText kind, std::string_view id, std::string_view text) = 0;
  virtual void end_text(UiText kind, std::string_view id) = 0;
  virtual void tool_input(const UiCall& call, UiRunner runner) = 0;
  virtual void approval_request(std::string_view call_id, std::string_view approval_id) = 0;
  virtual void approval_response(std::string_view call_id, std::string_view approval_id,
                                 bool is_approved, std::string_view reason) = 0;
  virtual void tool_output(std::string_view call_id, std::string_view output_json,
                           bool ran_here) = 0;
  virtual void tool_error(std::string_view call_id, std::string_view message, bool ran_here) = 0;
  virtual void tool_denied(std::string_view call_id) = 0;
  // One of the same name and id takes the place of the earlier one.
  virtual void data(std::string_view name, std::string_view id, std::string_view json) = 0;
  // Discards the pieces since the last start_step(). Returns false if they are already out.
  virtual bool take_back() = 0;
  virtual void end(const UiEnd& end) = 0;

 protected:
  ~UiSink() = default;
};

}  // namespace hostler::formats
