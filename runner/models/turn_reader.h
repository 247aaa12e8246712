// Fills a ModelTurn from what a provider streams and tells the observer of each piece of text. One
// subclass for each wire form; no network, no loop: bytes in, values out. Hostile input ends in a
// fault, never in unbounded memory.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/json.h"
#include "runner/models/model.h"
#include "runner/models/provider_error.h"

namespace hostler {

struct TurnFault {
  enum class Kind {
    provider_error,  // the provider says that it failed
    bad_response,    // what came is not the wire form
    too_long,        // over turn_bytes_max
    too_many_calls,  // over turn_tool_calls_max
  };
  Kind kind;
  int status = 0;  // of a provider_error
  std::string message;
};

class TurnReader {
 public:
  TurnReader(ModelTurn& turn, ModelObserver& observer) : turn_(turn), observer_(observer) {}
  virtual ~TurnReader() = default;
  TurnReader(const TurnReader&) = delete;
  TurnReader& operator=(const TurnReader&) = delete;

  // One data line of the stream.
  void read_event(std::string_view text);
  // A whole answer in one JSON document, from servers that do not stream.
  void read_document(std::string_view text);
  // Call when nothing more comes: gives tool calls their last form.
  void end();

  bool is_complete() const { return turn_.finish_reason != FinishReason::none; }
  // By its limit of tokens or a filter.
  bool was_stopped() const {
    return turn_.finish_reason == FinishReason::length ||
           turn_.finish_reason == FinishReason::content_filter;
  }
  bool saw_last_event() const { return saw_last_event_; }
  const std::optional<TurnFault>& fault() const { return fault_; }

 protected:
  virtual void take_event(const Json& event) = 0;
  virtual void take_document(const Json& document) = 0;
  virtual bool is_last_event(std::string_view text) const = 0;
  // Members of the message that the provider wants back, as an object; empty: none.
  virtual std::string message_members() const { return {}; }

  void add_text(TextChannel channel, std::string_view piece);
  // The call with the provider's number: known, or new.
  ToolCall* call_numbered(int64_t number);
  ToolCall* open_call(int64_t number);
  void add_arguments(ToolCall& call, std::string_view piece);
  // Whether what is there under these names can be counted with; else what is estimated stays.
  static bool are_counts(const Json& usage, std::initializer_list<std::string_view> names);
  // A count of the provider's, in bounds in which counts can be added; the fallback when absent.
  static int64_t tokens_in(const Json& usage, std::string_view name, int64_t fallback = 0);
  // What the provider counted, brought into sane bounds: it becomes money. All zero says nothing.
  void set_usage(ModelUsage usage);
  const ModelUsage& usage() const { return turn_.usage; }
  void finish(FinishReason reason) { turn_.finish_reason = reason; }
  void mark_last_event();
  void fail(TurnFault::Kind kind, int status, std::string message);
  size_t open_calls() const { return calls_.size(); }
  // Data of the provider's own, an object, that belongs to the newest call of this number.
  void set_call_data(int64_t number, std::string data);
  // A block of the provider's own that is being streamed: its data is known when it ends.
  void open_block(int64_t number);
  OpaquePart* block_numbered(int64_t number);
  // Whether the turn may hold so much more of such data: turn_bytes_max in all.
  bool count_opaque(size_t bytes);

 private:
  bool take_parsed(std::string_view text, std::optional<Json>& document);
  bool count_bytes(size_t count);
  void bound_arguments();
  void finish_parts();
  ModelTurn& turn_;
  ModelObserver& observer_;
  ToolCall& call_at(size_t nth) { return std::get<ToolCall>(turn_.parts[calls_[nth]]); }
  std::vector<size_t> calls_;                          // their places among the turn's parts
  std::unordered_map<int64_t, size_t> call_numbers_;   // of a number the newest call, in calls_
  std::unordered_map<size_t, std::string> call_data_;  // of a call, by its place in calls_
  std::unordered_map<int64_t, size_t> block_numbers_;  // likewise of opaque blocks, among the parts
  bool has_text_ = false;
  bool is_behind_call_ = false;  // no text came since the newest call
  size_t bytes_ = 0;
  size_t opaque_bytes_ = 0;
  bool saw_last_event_ = false;
  std::optional<TurnFault> fault_;
};

std::unique_ptr<TurnReader> make_turn_reader(ProviderKind kind, ModelTurn& turn,
                                             ModelObserver& observer);

}  // namespace hostler
