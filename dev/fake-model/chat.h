// Shared part of the two wire forms: a checked request, and the answer as a sequence of calls that
// a form turns into its own bytes. Read by the player; written by openai_* and anthropic_*.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "dev/fake-model/http_message.h"
#include "lib/json.h"

namespace hostler::fake_model {

// Why a provider would not answer. The form writes it as its own error document.
struct Refusal {
  int status = 400;
  std::string message;
  int64_t retry_after_s = 0;  // Retry-After when above 0
  // A body in another form than the wire form's own; nothing: its own.
  std::optional<std::string> body = std::nullopt;
  std::string content_type = "application/json";
  std::string location = {};  // of a redirect
};

// A part of a prompt, in the order in which a model reads it.
struct PromptBlock {
  std::string bytes;
  bool is_breakpoint = false;  // marked by cache_control
};

struct ChatRequest {
  std::string model;
  bool stream = false;
  bool include_usage = true;
  int64_t output_tokens_max = 0;  // 0: no limit
  std::string last_user_text;
  std::string wanted_call;                // of tool_choice: the tool that must be called, if any
  std::string wanted_arguments;           // JSON that fits its schema
  std::string wanted_json;                // of a response format with a schema: JSON that fits it
  int64_t turn = 0;                       // assistant messages since the last user message
  std::vector<std::string> tool_results;  // of the newest turn, as text
  std::string history;                    // what came in, as JSON, for [echo-history]
  uint64_t conversation = 0;              // a hash of the messages: the same for a repeated request
  int64_t input_tokens = 0;               // a guess: a token is four bytes
  std::vector<PromptBlock> prompt;        // empty of one that is too short to be kept
  bool caches_by_itself = false;          // without marks, as OpenAI does
  int64_t cached_tokens = 0;              // of the input, what the cache had
  int64_t written_tokens = 0;             // and what went into it
};

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON text, except when the script wants it broken
};

struct Usage {
  int64_t input_tokens = 0;  // all, cached ones included
  int64_t output_tokens = 0;
  int64_t cached_tokens = 0;
  int64_t written_tokens = 0;  // into the cache; only the Anthropic form has a place for it
};

enum class FinishReason { stop, tool_calls, length, content_filter };

// How an answer departs from the wire form; empty members: it does not.
struct AnswerHabits {
  std::string finish_word;  // instead of the reason's own word
  std::string usage_place;  // choice, groq, floats, each or late
  std::string end;          // done: no reason, but the mark of the end; bare: neither
};

// One answer in one wire form. Each call appends bytes to `out`; an answer that is not streamed
// appends nothing before close.
class AnswerForm {
 public:
  virtual ~AnswerForm() = default;
  virtual void open(std::string& out, const std::optional<Usage>& usage_so_far) = 0;
  virtual void text(std::string& out, std::string_view piece) = 0;
  virtual void thinking(std::string& out, std::string_view piece) = 0;
  virtual std::string_view call_id_prefix() const = 0;
  virtual void begin_tool_call(std::string& out, const ToolCall& call) = 0;
  virtual void tool_arguments(std::string& out, std::string_view piece) = 0;
  virtual void close(std::string& out, FinishReason reason, const std::optional<Usage>& usage) = 0;
  // Inside a stream that began well: an error object; an event that stops in the middle; one whose
  // content is no JSON.
  virtual void error(std::string& out) = 0;
  virtual void half_event(std::string& out) = 0;
  virtual void garbage_event(std::string& out, std::string_view garbage) = 0;

  void take_habits(AnswerHabits habits) { habits_ = std::move(habits); }
  // Text as JSON writes it, without quotation marks: it may hold half of a character.
  virtual void raw_text(std::string&, std::string_view) {}
  // Data of the provider's own (own_members.h).
  virtual void own_members(std::string&, std::string_view /*form*/, std::string_view /*value*/) {}
  // False when the form writes calls in one way alone.
  virtual bool odd_calls(std::string&, std::string_view /*habit*/, const std::vector<ToolCall>&) {
    return false;
  }

 protected:
  AnswerHabits habits_;
};

// One wire form: its checks, its errors, its answers.
class WireForm {
 public:
  virtual ~WireForm() = default;
  // Returns nothing if the request has the key (checked only if the server requires one).
  virtual std::optional<Refusal> refuse_key(const HttpRequest& request,
                                            std::string_view key) const = 0;
  virtual std::variant<ChatRequest, Refusal> read(const Json& body) const = 0;
  virtual std::string error_document(const Refusal& refusal) const = 0;
  virtual std::unique_ptr<AnswerForm> answer(const ChatRequest& request) const = 0;
};

std::unique_ptr<WireForm> make_openai_form();
std::unique_ptr<WireForm> make_anthropic_form();

// Deterministic: the same request has the same ids. `place` tells the ids of one answer apart.
std::string fake_id(std::string_view prefix, uint64_t conversation, uint64_t position);

}  // namespace hostler::fake_model
