// The pieces of a message put together: its parts, as the AI SDK's client has them behind the
// same chunks; and from them the message as JSON, or as fewer chunks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/formats/growing_text.h"
#include "lib/formats/ui_sink.h"

namespace hostler::formats {

class UiParts final : public UiSink {
 public:
  void start(std::string_view metadata) override;
  void start_step() override;
  void finish_step() override {}
  void start_text(UiText kind, std::string_view id) override;
  void add_text(UiText kind, std::string_view id, std::string_view text) override;
  void end_text(UiText kind, std::string_view id) override;
  void tool_input(const UiCall& call, UiRunner runner) override;
  void approval_request(std::string_view call_id, std::string_view approval_id) override;
  void approval_response(std::string_view call_id, std::string_view approval_id, bool is_approved,
                         std::string_view reason) override;
  void tool_output(std::string_view call_id, std::string_view output_json, bool ran_here) override;
  void tool_error(std::string_view call_id, std::string_view message, bool ran_here) override;
  void tool_denied(std::string_view call_id) override;
  void data(std::string_view name, std::string_view id, std::string_view json) override;
  bool take_back() override;
  void end(const UiEnd& end) override;

  bool is_empty() const { return parts_.empty(); }
  // The members of the SDK's UIMessage.
  std::string message_json(std::string_view message_id) const;
  // Returns the parts joined into fewer pieces. with_end: with the end that came last.
  void show(UiSink& sink, bool with_end) const;

 private:
  using Shared = std::shared_ptr<const std::string>;
  struct Approval {
    std::string id;
    std::optional<bool> is_approved = std::nullopt;
    std::string reason = {};
  };
  enum class Kind : uint8_t { step, text, reasoning, tool, data };
  enum class State : uint8_t { input, asked, denied, output, error };
  struct Part {
    Kind kind;
    std::string id = {};
    std::string name = {};    // the tool's, the data's
    GrowingText text = {};    // of text and reasoning
    bool is_done = false;     // likewise
    State state = {};         // of a tool's call
    bool runs_here = false;   // likewise
    Shared input = nullptr;   // JSON; of data its value
    Shared output = nullptr;  // JSON, or the words of the error
    std::optional<Approval> approval = std::nullopt;
  };

  Part* find(Kind kind, std::string_view id, std::string_view name = {});
  void finish_call(std::string_view call_id, State state, std::string_view output, bool ran_here);
  std::string metadata() const;
  static void show_tool(const Part& part, UiSink& sink);

  std::vector<Part> parts_;
  std::string begin_metadata_;
  std::optional<UiEnd> end_;
};

}  // namespace hostler::formats
