// Values between the agent loop and a language model of any provider. Plain data: the provider's
// wire forms are in openai.cpp and anthropic.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/loop/task.h"
#include "runner/models/parts.h"

namespace hostler {

enum class ChatRole { system, user, assistant, tool };

struct ChatMessage {
  ChatMessage() = default;
  explicit ChatMessage(ChatRole role_) : role(role_) {}
  ChatMessage(ChatRole role_, std::string text) : role(role_), parts{TextPart{std::move(text)}} {}
  ChatMessage(ChatRole role_, Parts parts_) : role(role_), parts(std::move(parts_)) {}

  std::string text() const { return text_of(parts); }
  std::vector<ToolCall> calls() const { return calls_of(parts); }
  // The first text; of a message that is one text all of it.
  std::string_view first_text() const;
  std::string& first_text();

  ChatRole role = ChatRole::user;
  Parts parts = {};               // calls and opaque data: of an assistant alone
  std::string tool_call_id = {};  // of a tool: the call that the text answers
  std::string name = {};          // who of that role speaks; empty: nobody is named
  std::string run_id = {};  // of an answer: the run whose stored turns stand for it; empty: none
};

struct ToolDefinition {
  std::string name;
  std::string description;
  std::string parameters;  // JSON Schema text
  // Whether the provider shall hold the model to the schema; nothing: as it likes. For those of
  // openai's form, the other has no word for it.
  std::optional<bool> strict = std::nullopt;
};

struct ModelUsage {
  int64_t input_tokens = 0;  // all of the input, with what was read from or written to a cache
  int64_t output_tokens = 0;
  int64_t cache_read_tokens = 0;
  int64_t cache_write_tokens = 0;
  bool measured = false;  // false: estimated as one token for four bytes, rounded up
};

enum class ProviderKind { openai, anthropic };

struct ModelEndpoint {
  ProviderKind provider_kind = ProviderKind::openai;
  std::string base_url;  // of openai with its version, of anthropic without; empty: their own
  std::string api_key;   // empty: none is sent
  std::string model;
  bool guarded = true;  // an organization chose the address
};

// Settings model.connect_timeout_ms, model.first_byte_timeout_ms, model.idle_timeout_ms.
struct ModelTimeouts {
  int64_t connect_ms = 10'000;
  int64_t first_byte_ms = 60'000;
  int64_t idle_ms = 60'000;
};

// Format of the answer: JSON that fits a schema, or any JSON object.
struct ResponseFormat {
  bool has_schema = false;
  std::string name;
  std::string description = {};  // what it is for; empty: nobody said
  std::string schema;            // JSON Schema text
  std::optional<bool> strict;    // the provider is to hold the model to the schema
};

// Which of the tools that it is offered a model is to call.
struct ToolChoice {
  enum class Kind { none, automatic, required, named };  // required: any of them, but one
  Kind kind = Kind::automatic;
  std::string name = {};  // of the one that is named
};

// Further wishes of a caller for the model. A provider's request leaves out members that its API
// does not have. Hostler's API refused these by name before (anthropic_sampling_check).
struct Sampling {
  std::optional<double> top_p = std::nullopt;
  std::optional<double> presence_penalty = std::nullopt;
  std::optional<double> frequency_penalty = std::nullopt;
  std::optional<int64_t> seed = std::nullopt;
  std::vector<std::string> stop = {};                    // texts before which the answer ends
  std::optional<ToolChoice> tool_choice = std::nullopt;  // nothing: as the model likes
  std::optional<bool> parallel_tool_calls = std::nullopt;
};

// Behaviour of a model's provider that its protocol does not define: which members of a request it
// refuses. Learned from its refusals (model_client.h), kept for the model.
struct ModelTraits {
  enum class TokenLimit { by_host, max_tokens, max_completion_tokens, none };
  TokenLimit token_limit = TokenLimit::by_host;  // the name of the limit of output tokens
  bool no_stream_options = false;
  bool no_response_format = false;  // the prompt asks for JSON instead
  bool no_parallel_tool_calls = false;
  bool no_strict = false;
  bool no_temperature = false;
  bool no_system_role = false;         // the first message of the user begins with the system text
  bool no_given_reasoning = false;     // reasoning_content of a client's history is refused
  bool takes_given_reasoning = false;  // it sends such members itself, or wants them
  bool no_own_reasoning = false;       // what it sent itself is refused when it comes back
  bool wants_own_calls = false;        // calls of other models in a history are refused
  int64_t context_tokens = 0;          // that its refusal named; 0: unknown

  bool operator==(const ModelTraits&) const = default;
};

struct ModelRequest {
  ModelEndpoint endpoint;
  std::vector<ChatMessage> messages;  // the prompt first, then by time, other system texts too
  std::vector<ToolDefinition> tools;
  std::optional<double> temperature;
  Sampling sampling;
  std::optional<int64_t> output_tokens_max;
  bool cuts_at_limit = false;  // an answer that goes on behind that is broken off: it is held for
  std::optional<ResponseFormat> response_format;
  ModelTimeouts timeouts;
  std::string trace_id;     // of the run; empty: none is sent
  ModelTraits traits = {};  // of the model at this endpoint, as far as they are known
  // How often the turn may be asked again because the provider refused a member of the request.
  int adaptations_left = 2;
};

// A refusal because the request has more tokens than the model takes.
struct ContextExcess {
  int64_t limit_tokens = 0;  // that the refusal named; 0: unknown
  int64_t asked_tokens = 0;  // likewise
  std::string message;       // in the provider's words

  bool operator==(const ContextExcess&) const = default;
};

// A tool for which the provider refuses the whole request.
struct ToolRefusal {
  std::string name;
  std::string reason;  // a sentence, with the provider's words
};

enum class FinishReason { none, stop, tool_calls, length, content_filter };

struct ModelTurn {
  std::string text() const { return text_of(parts); }
  std::vector<ToolCall> calls() const { return calls_of(parts); }

  Parts parts;
  std::string thinking;
  ModelUsage usage;
  FinishReason finish_reason = FinishReason::none;
  bool is_broken_off = false;  // the stream ended within a call, and what came counts as the turn
  ModelTraits traits;          // as the request had them, and what its refusals taught
  int adaptations = 0;         // requests made again because a member was refused
  // The provider refused the request as too long; there is no answer, and nothing was shown.
  std::optional<ContextExcess> context_excess = std::nullopt;
  // The provider refused the history, and traits.wants_own_calls says how it has to be; there is no
  // answer, and nothing was shown.
  bool wants_other_history = false;
  // The provider refused the request for one of its tools; there is no answer, and nothing was
  // shown.
  std::optional<ToolRefusal> refused_tool = std::nullopt;
};

enum class TextChannel { answer, thinking };

// Hears of a turn while it streams. Must not throw.
class ModelObserver {
 public:
  virtual ~ModelObserver() = default;
  virtual void on_text(TextChannel channel, std::string_view piece) = 0;
  // The try with this number (2, 3) begins after the delay; nothing of the turn was shown yet.
  virtual void on_retrying(int attempt, int64_t delay_ms, std::string_view reason) = 0;
  // A trait of the model was learned: the name of the member of ModelTraits.
  virtual void on_trait_learned(std::string_view) {}
  // The run has shown as much as it may: the turn ends with run.output_limit and this message.
  virtual bool is_full() const { return false; }
  virtual std::string full_message() const { return {}; }
  // Too much of what was shown is not stored yet: no more is read of the model until has_room()
  // returns. Asked between two pieces of an answer.
  virtual bool is_blocked() const { return false; }
  virtual Task<void> has_room() { co_return; }
  // The last shown text is not stored yet, so later output of the model follows it. It is read at
  // once when caught_up() returns. Also called between two pieces.
  virtual bool is_behind() const { return false; }
  virtual Task<void> caught_up() { co_return; }
};

// Limit of text, thinking and arguments of one turn together.
constexpr size_t turn_bytes_max = size_t{4} << 20;
// The largest value of limit.tool_calls for a run.
constexpr size_t turn_tool_calls_max = 10'000;
// Limit of all arguments of a turn. A call that passes it gets a note that its arguments were left
// out. 10,000 calls may have so many values, with an object and its one member each.
constexpr size_t turn_argument_bytes_max = size_t{1} << 20;
constexpr size_t turn_argument_values_max = 20'000;

constexpr int64_t tokens_of_bytes(size_t bytes) { return static_cast<int64_t>((bytes + 3) / 4); }
int64_t estimate_input_tokens(const ModelRequest& request);

// Whether the provider has a mode of its own for the format; else the prompt must ask for it.
bool has_own_mode(ProviderKind kind, const ResponseFormat& format);

// Characters that providers refuse in a text, and those that they accept in the name of a tool. If
// a model made up a name, it gets it back in a form that its provider accepts.
bool is_blank(std::string_view text);
std::string name_on_the_wire(std::string_view name);

}  // namespace hostler
