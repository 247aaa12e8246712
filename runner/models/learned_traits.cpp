// See runner/models/learned_traits.h. tests/unit/models/learned_traits_test.cpp lists the messages
// of servers.
#include "runner/models/learned_traits.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "lib/ascii.h"
#include "runner/models/openai.h"

namespace hostler {
namespace {

constexpr size_t read_bytes_max = 4096;

// In lower case, as all that is compared here.
constexpr std::string_view refusing_words[] = {
    "unsupported",     "not support",    "n't support",   "unrecognized",    "unrecognised",
    "unknown",         "unexpected",     "not permitted", "forbidden",       "not allowed",
    "deprecated",      "unavailable",    "not available", "not implemented", "not enabled",
    "cannot be",       "can not be",     "can't be",      "not accept",      "not valid",
    "invalid",         "not recognized", "no such",       "extra inputs",    "extra fields",
    "additional prop", "not a valid",    "is not a ",     "not compatible",  "incompatible",
    "cannot have",     "does not exist", "not defined",   "disallowed",      "remove",
    "not exist",       "only support",   "instead",       "supports only",   "without"};

// These speak of a member's value.
constexpr std::string_view value_words[] = {
    "too large",    "too small",    "at most",     "at least",      "less than",
    "greater than", "must be <",    "must be >",   "exceeds",       "exceed the",
    "between ",     "out of range", "larger than", "maximum value", "minimum value"};

template <size_t size>
bool has_any(std::string_view text, const std::string_view (&words)[size]) {
  return std::any_of(std::begin(words), std::end(words),
                     [text](std::string_view word) { return text.find(word) != text.npos; });
}

class Refusal {
 public:
  Refusal(const ProviderError& error, const ModelRequest& request)
      : request_(request),
        text_(ascii::lower_case(std::string_view(error.message).substr(0, read_bytes_max))) {
    // The member may stand beside the words.
    text_ += ' ';
    text_ += ascii::lower_case(error.param);
    text_ += ' ';
    text_ += ascii::lower_case(error.code);
    refuses_ = has_any(text_, refusing_words);
  }

  bool learn(ModelTraits& traits) const {
    return learn_reasoning(traits) || learn_limit(traits) || learn_stream_options(traits) ||
           learn_format(traits) || learn_parallel(traits) || learn_strict(traits) ||
           learn_temperature(traits) || learn_system_role(traits);
  }

 private:
  bool names(std::string_view word) const { return text_.find(word) != text_.npos; }
  // Finds it as a word of its own, because "strict" is part of "restricted".
  bool names_alone(std::string_view word) const {
    for (size_t at = text_.find(word); at != text_.npos; at = text_.find(word, at + 1)) {
      bool begins = at == 0 || !ascii::is_letter(text_[at - 1]);
      size_t end = at + word.size();
      if (begins && (end == text_.size() || !ascii::is_letter(text_[end]))) return true;
    }
    return false;
  }

  bool has_calls_in_history() const {
    return std::any_of(request_.messages.begin(), request_.messages.end(),
                       [](const ChatMessage& message) { return has_calls(message.parts); });
  }
  // is_given: of a client's history; else what the provider sent itself.
  bool has_opaque_members(bool is_given) const {
    return std::any_of(
        request_.messages.begin(), request_.messages.end(), [is_given](const ChatMessage& message) {
          return std::any_of(message.parts.begin(), message.parts.end(),
                             [is_given](const Part& part) {
                               const OpaquePart* own = std::get_if<OpaquePart>(&part);
                               return own != nullptr && own->place != OpaquePart::Place::block &&
                                      own->origin.empty() == is_given;
                             });
        });
  }
  // "reasoning" alone is also a kind of model.
  bool names_opaque_member() const {
    return names("reasoning_content") || names("reasoning_details") || names("extra_content") ||
           names("'reasoning'") || names("`reasoning`") || names("\"reasoning\"") ||
           names(".reasoning:") || names("thought_signature");
  }
  bool has_system_text() const {
    return std::any_of(request_.messages.begin(), request_.messages.end(),
                       [](const ChatMessage& message) { return message.role == ChatRole::system; });
  }
  bool sends_strict() const {
    if (request_.response_format && request_.response_format->strict) return true;
    return std::any_of(request_.tools.begin(), request_.tools.end(),
                       [](const ToolDefinition& tool) { return tool.strict.has_value(); });
  }
  bool is_openai() const { return request_.endpoint.provider_kind == ProviderKind::openai; }

  // DeepSeek, Kimi, Gemini and Anthropic want what they sent, and some take it from a client.
  bool learn_reasoning(ModelTraits& traits) const {
    bool is_reasoning = names("reasoning") || names("thought_signature") || names("thinking`") ||
                        names("extra_content");
    if (!is_reasoning) return false;
    bool is_missing = names("missing") || names("must be passed") || names("required") ||
                      names("must start with") || names("expected `thinking`") ||
                      names("must be provided") || names("should be passed");
    bool is_sent = traits.takes_given_reasoning && !traits.no_given_reasoning;
    if (is_missing) {
      if (is_openai() && has_opaque_members(true) && !is_sent && !traits.no_given_reasoning) {
        return traits.takes_given_reasoning = true;
      }
      if (!has_calls_in_history() || traits.wants_own_calls) return false;
      return traits.wants_own_calls = true;
    }
    if (!refuses_ || !is_openai() || !names_opaque_member()) return false;
    if (is_sent && has_opaque_members(true)) return traits.no_given_reasoning = true;
    if (traits.no_own_reasoning || !has_opaque_members(false)) return false;
    return traits.no_own_reasoning = true;
  }

  bool learn_limit(ModelTraits& traits) const {
    using Limit = ModelTraits::TokenLimit;
    if (!is_openai() || !request_.output_tokens_max) return false;
    std::string_view sent = openai_limit_member(request_);
    if (sent.empty() || !names_alone(sent) || !refuses_ || has_any(text_, value_words)) {
      return false;
    }
    // The other name was tried before.
    if (traits.token_limit != Limit::by_host) return false;
    traits.token_limit = sent == "max_tokens" ? Limit::max_completion_tokens : Limit::max_tokens;
    return true;
  }

  bool learn_stream_options(ModelTraits& traits) const {
    bool is_named = names("stream_options") || names("include_usage");
    if (!is_openai() || traits.no_stream_options || !is_named) return false;
    return traits.no_stream_options = true;
  }

  bool learn_format(ModelTraits& traits) const {
    if (!request_.response_format || traits.no_response_format) return false;
    if (!has_own_mode(request_.endpoint.provider_kind, *request_.response_format)) return false;
    bool is_named = names("response_format") || names("response format") || names("json_schema") ||
                    names("json mode") || names("json_object") || names("structured output") ||
                    names("output_config") || names("output_format") ||
                    names("response mime type") || names("guided");
    // A schema that is wrong, or a prompt, says nothing of the model.
    bool is_other = names("invalid schema") || names("must contain the word");
    if (!is_named || is_other || !refuses_) return false;
    return traits.no_response_format = true;
  }

  bool learn_parallel(ModelTraits& traits) const {
    bool is_named = names("parallel_tool_calls") || names("parallel tool") ||
                    names("disable_parallel_tool_use");
    bool is_sent = request_.sampling.parallel_tool_calls && !request_.tools.empty();
    if (!is_named || !is_sent || traits.no_parallel_tool_calls || !refuses_) return false;
    return traits.no_parallel_tool_calls = true;
  }

  bool learn_strict(ModelTraits& traits) const {
    if (!is_openai() || !sends_strict() || traits.no_strict) return false;
    if (!names_alone("strict") || !refuses_ || names("invalid schema")) return false;
    return traits.no_strict = true;
  }

  // Anthropic: "`temperature` is deprecated for this model."; OpenAI of its models that reason:
  // "Unsupported value: 'temperature' does not support 0.5 with this model."
  bool learn_temperature(ModelTraits& traits) const {
    if (!request_.temperature || traits.no_temperature || !names("temperature")) return false;
    return traits.no_temperature = true;
  }

  bool learn_system_role(ModelTraits& traits) const {
    if (!is_openai() || traits.no_system_role || !has_system_text()) return false;
    bool is_role = names_alone("system") &&
                   (names("role") || names("message") || names("instruction") || names("prompt"));
    // FastAPI lists the roles that the first message may have.
    bool is_first = names("messages.0.role") || names("messages[0]") || names("0, 'role'");
    bool is_listed = is_first && (names("'user' or 'assistant'") || names("'user', 'assistant'"));
    bool is_named = (is_role || names("developer instruction")) && refuses_;
    if ((!is_named && !is_listed) || names("must alternate")) return false;
    return traits.no_system_role = true;
  }

  const ModelRequest& request_;
  std::string text_;
  bool refuses_ = false;
};

}  // namespace

std::optional<ModelTraits> learned_from(int status, const ProviderError& error,
                                        const ModelRequest& request) {
  bool may_be = (status >= 400 && status < 500) || status == 500 || status == 501;
  bool is_other = status == 401 || status == 402 || status == 403 || status == 408 ||
                  status == 409 || status == 429;
  if (!may_be || is_other || error.message.empty()) return std::nullopt;
  ModelTraits traits = request.traits;
  if (!Refusal(error, request).learn(traits)) return std::nullopt;
  return traits;
}

std::string_view trait_changed(const ModelTraits& before, const ModelTraits& after) {
  if (before.token_limit != after.token_limit) return "token_limit";
  if (before.no_stream_options != after.no_stream_options) return "no_stream_options";
  if (before.no_response_format != after.no_response_format) return "no_response_format";
  if (before.no_parallel_tool_calls != after.no_parallel_tool_calls) {
    return "no_parallel_tool_calls";
  }
  if (before.no_strict != after.no_strict) return "no_strict";
  if (before.no_temperature != after.no_temperature) return "no_temperature";
  if (before.no_system_role != after.no_system_role) return "no_system_role";
  if (before.no_given_reasoning != after.no_given_reasoning) return "no_given_reasoning";
  if (before.takes_given_reasoning != after.takes_given_reasoning) return "takes_given_reasoning";
  if (before.no_own_reasoning != after.no_own_reasoning) return "no_own_reasoning";
  if (before.wants_own_calls != after.wants_own_calls) return "wants_own_calls";
  if (before.context_tokens != after.context_tokens) return "context_tokens";
  return {};
}

}  // namespace hostler
