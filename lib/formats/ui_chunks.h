// Pieces of a message as chunks of the AI SDK's UI message stream: server-sent events whose data
// are JSON objects, with "[DONE]" after the last one. Only chunks that ai@6 knows too. The
// exception is tool-approval-response of ai@7, for answers that its client did not give itself.
#pragma once

#include <string>
#include <string_view>

#include "lib/formats/ui_sink.h"
#include "lib/json.h"

namespace hostler::formats {

class UiChunks final : public UiSink {
 public:
  enum class Approvals : uint8_t { known_to_client, to_be_told };

  UiChunks(std::string_view message_id, Approvals approvals, std::string& out)
      : message_id_(message_id), approvals_(approvals), out_(out) {}

  void start(std::string_view metadata) override;
  void start_step() override;
  void finish_step() override;
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
  bool take_back() override { return false; }
  void end(const UiEnd& end) override;

 private:
  void write(JsonWriter& json);

  std::string_view message_id_;
  Approvals approvals_;
  std::string& out_;
};

}  // namespace hostler::formats
