// OpenAI's Chat Completions, streamed, as OpenAI and the many compatible servers speak it: the
// request's JSON (openai_request.cpp), and the reader of the answer (openai.cpp).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lib/http/client.h"
#include "runner/models/call_pieces.h"
#include "runner/models/turn_reader.h"

namespace hostler {

// Everything but the limits of time, which are the model client's.
http::HttpRequest openai_request(const ModelRequest& request);
// The member that limits the output's tokens in this request; empty: none is sent.
std::string_view openai_limit_member(const ModelRequest& request);

class OpenAiReader : public TurnReader {
 public:
  OpenAiReader(ModelTurn& turn, ModelObserver& observer)
      : TurnReader(turn, observer),
        pieces_([this](size_t nth) { return std::string_view(call_at(nth).arguments); }) {}

 private:
  void take_event(const Json& event) override;
  void take_document(const Json& document) override;
  void take_late_event(const Json& event) override;
  bool is_last_event(std::string_view text) const override { return text.starts_with("[DONE]"); }
  bool has_answer() const override { return has_choice_; }
  void finish_held() override;
  void take_choices(const Json& event, std::string_view message_member);
  std::string message_members() const override;
  void take_message(const Json& message);
  void take_own_members(const Json& message);
  void take_reasoning_detail(const Json& detail);
  void take_content(TextChannel channel, const Json* content);
  void take_thought(const Json& part, const Json& thinking);
  void close_thought();
  void take_tool_calls(const Json& calls);
  // extra: the provider's own values that go back with the call, or nullptr.
  void take_function(CallPiece piece, const Json& function, const Json* extra);
  void take_usage(const Json& event);

  CallPieces pieces_;
  bool has_choice_ = false;
  // Members of the message that the provider wants back.
  std::map<std::string, std::string> own_texts_;
  Json::Array own_details_;
  std::string own_extra_;
  // Mistral's thought that is being streamed, and its place.
  std::optional<Json::Object> thought_;
  size_t thought_place_ = 0;
};

}  // namespace hostler
