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
#include "runner/models/half_pairs.h"
#include "runner/models/json_progress.h"
#include "runner/models/model.h"
#include "runner/models/provider_error.h"
#include "runner/models/sse_reader.h"

namespace hostler {

struct TurnFault {
  enum class Kind {
    provider_error,  // the provider says that it failed
    bad_finish,      // it ended the answer with a word that means a fault
    no_answer,       // it ended the stream before it said anything
    bad_response,    // what came is not the wire form
    too_long,        // over turn_bytes_max
    too_many_calls,  // over turn_tool_calls_max
  };
  Kind kind;
  ProviderError error;  // of the others the message alone
};

class TurnReader {
 public:
  TurnReader(ModelTurn& turn, ModelObserver& observer) : turn_(turn), observer_(observer) {}
  virtual ~TurnReader() = default;
  TurnReader(const TurnReader&) = delete;
  TurnReader& operator=(const TurnReader&) = delete;

  // A line of the stream. A JSON text may go on in the next data line of its event.
  void read_line(const SseLine& line);
  // One data line.
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
  // After it only usage is read.
  bool saw_last_event() const { return saw_last_event_; }
  bool has_usage() const { return turn_.usage.measured; }
  const std::optional<TurnFault>& fault() const { return fault_; }

 protected:
  virtual void take_event(const Json& event) = 0;
  virtual void take_document(const Json& document) = 0;
  // An event behind the last one: some servers count the tokens there.
  virtual void take_late_event(const Json&) {}
  virtual bool is_last_event(std::string_view text) const = 0;
  // Whether any answer came, even an empty one.
  virtual bool has_answer() const = 0;
  // Ends the input: values that were held back go to the turn.
  virtual void finish_held() {}
  // Members of the message that the provider wants back, as an object; empty: none.
  virtual std::string message_members() const { return {}; }

  void add_text(TextChannel channel, std::string_view piece);
  // Calls are known by their place. Nothing: one more would be too many.
  std::optional<size_t> open_call();
  ToolCall& call_at(size_t nth) { return std::get<ToolCall>(turn_.parts[calls_[nth]]); }
  const ToolCall& call_at(size_t nth) const { return std::get<ToolCall>(turn_.parts[calls_[nth]]); }
  void add_arguments(size_t nth, std::string_view piece);
  // Whether what is there under these names can be counted with; else what is estimated stays.
  static bool are_counts(const Json& usage, std::initializer_list<std::string_view> names);
  // A count of the provider's, in bounds in which counts can be added; the fallback when absent.
  static int64_t tokens_in(const Json& usage, std::string_view name, int64_t fallback = 0);
  // Counts of the provider, bounded to sane values because they become money. All zero means
  // unknown.
  void set_usage(ModelUsage usage);
  const ModelUsage& usage() const { return turn_.usage; }
  // With the provider's word for why the answer ends; it is not empty.
  void finish_with(std::string_view word);
  void mark_last_event();
  void fail(TurnFault::Kind kind, std::string message);
  void fail(ProviderError error);
  size_t open_calls() const { return calls_.size(); }
  // Data of the provider's own, an object, that belongs to the call.
  void set_call_opaque(size_t nth, std::string data);
  // A block of the provider's own that is being streamed: its data is known when it ends. Returns
  // its place, which block_at() takes until end().
  size_t open_block();
  OpaquePart& block_at(size_t place) { return std::get<OpaquePart>(turn_.parts[place]); }
  // Whether the turn may hold so much more of such data: turn_bytes_max in all.
  bool count_opaque(size_t bytes);
  // The piece of a text of the provider's own, its halves of characters joined (half_pairs.h).
  // stream: a number for the text, below zero.
  std::string whole_characters(int64_t stream, std::string_view piece);

 private:
  void take_text(std::string_view text, bool is_error);
  void take_parsed(const Json& event);
  void go_on(std::string_view text);
  void read_error(std::string_view text);
  void read_late_event(std::string_view text);
  void end_event();
  void add_whole_text(TextChannel channel, std::string_view piece);
  void add_whole_arguments(size_t nth, std::string_view piece);
  void end_halves();
  bool count_bytes(size_t count);
  void name_calls();
  void bound_arguments();
  void finish_parts();
  void end_reason(bool wants_tools);
  ModelTurn& turn_;
  ModelObserver& observer_;
  std::vector<size_t> calls_;                            // their places among the turn's parts
  std::unordered_map<size_t, std::string> call_opaque_;  // of a call, by its place in calls_
  std::string open_text_;  // a JSON text that goes on in the next line
  JsonProgress open_progress_;
  bool is_open_error_ = false;  // it is an error's
  HalfPairs halves_;
  bool has_halves_ = false;      // the event that is read may hold halves of characters
  std::string fault_word_;       // the answer ended with it
  bool is_end_assumed_ = false;  // by the end mark alone
  int late_events_ = 0;
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
