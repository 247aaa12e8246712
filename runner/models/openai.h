// OpenAI's Chat Completions, streamed, as OpenAI and the many compatible servers speak it: the
// request's JSON, and the reader of the answer.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "lib/http/client.h"
#include "runner/models/turn_reader.h"

namespace hostler {

// Everything but the limits of time, which are the model client's.
http::HttpRequest openai_request(const ModelRequest& request);

class OpenAiReader : public TurnReader {
 public:
  using TurnReader::TurnReader;

 private:
  void take_event(const Json& event) override;
  void take_document(const Json& document) override;
  bool is_last_event(std::string_view text) const override { return text.starts_with("[DONE]"); }
  void take_choices(const Json& event, std::string_view message_member);
  std::string message_members() const override;
  void take_message(const Json& message);
  void take_own_members(const Json& message);
  void take_reasoning_detail(const Json& detail);
  void take_content(TextChannel channel, const Json* content);
  void take_tool_calls(const Json& calls);
  void take_tool_call(const Json& piece);
  void take_usage(const Json& event);

  // Members of the message that the provider wants back.
  std::map<std::string, std::string> own_texts_;
  Json::Array own_details_;
  std::string own_extra_;
};

}  // namespace hostler
