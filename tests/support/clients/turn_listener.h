// A ModelObserver that remembers what it heard, and readers fed from text, for unit tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runner/models/sse_reader.h"
#include "runner/models/turn_reader.h"

namespace hostler::testing_support {

class TurnListener : public ModelObserver {
 public:
  struct Retry {
    int attempt;
    int64_t delay_ms;
    std::string reason;
  };
  void on_text(TextChannel channel, std::string_view piece) override {
    received +=
        channel == TextChannel::thinking ? "(" + std::string(piece) + ")" : std::string(piece);
    received += '|';
  }
  void on_retrying(int attempt, int64_t delay_ms, std::string_view reason) override {
    retries.push_back({attempt, delay_ms, std::string(reason)});
  }
  std::string received;  // pieces, each followed by |, thinking in brackets
  std::vector<Retry> retries;
};

// A reader and what it filled.
struct ReadTurn {
  explicit ReadTurn(ProviderKind kind, const std::vector<std::string>& events = {})
      : reader(make_turn_reader(kind, turn, listener)) {
    for (const std::string& event : events) reader->read_event(event);
    if (!events.empty()) reader->end();
  }
  ReadTurn(const ReadTurn&) = delete;  // the reader points into it
  ReadTurn& operator=(const ReadTurn&) = delete;
  void document(std::string_view text) {
    reader->read_document(text);
    reader->end();
  }
  bool is_good() const { return reader->is_complete() && !reader->fault(); }

  ModelTurn turn;
  TurnListener listener;
  std::unique_ptr<TurnReader> reader;
};

}  // namespace hostler::testing_support
