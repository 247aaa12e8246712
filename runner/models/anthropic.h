// Anthropic's Messages API, streamed: the request's JSON (anthropic_request.cpp), and the reader of
// the answer (anthropic.cpp).
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/http/client.h"
#include "runner/models/turn_reader.h"

namespace hostler {

// Everything but the limits of time, which are the model client's.
http::HttpRequest anthropic_request(const ModelRequest& request);

class AnthropicReader : public TurnReader {
 public:
  using TurnReader::TurnReader;

 private:
  void take_event(const Json& event) override;
  void take_document(const Json& document) override;
  bool is_last_event(std::string_view) const override { return false; }  // message_stop, by type
  bool has_answer() const override { return has_answer_; }
  void finish_held() override;
  void begin_block(int64_t index, const Json& block);
  void take_delta(const Json& event);
  void add_to_block(int64_t index, std::string_view name, std::string_view piece);
  void close_block(int64_t index);
  void finish_by(const Json& holder);
  void take_usage(const Json& holder, bool is_final);

  struct OpenBlock {
    size_t place;
    Json::Object members;
  };
  std::unordered_map<int64_t, OpenBlock> blocks_;  // of thinking, while they are streamed
  std::unordered_map<int64_t, size_t> calls_;      // of an index the newest call
  bool has_answer_ = false;
};

}  // namespace hostler
