// See runner/models/model_traits.h.
#include "runner/models/model_traits.h"

#include "lib/json.h"

namespace hostler {
namespace {

using TokenLimit = ModelTraits::TokenLimit;

struct NamedLimit {
  std::string_view name;
  TokenLimit limit;
};
constexpr NamedLimit token_limits[] = {{"max_tokens", TokenLimit::max_tokens},
                                       {"max_completion_tokens", TokenLimit::max_completion_tokens},
                                       {"none", TokenLimit::none}};

struct NamedTrait {
  std::string_view name;
  bool ModelTraits::*trait;
};
constexpr NamedTrait named_traits[] = {
    {"no_stream_options", &ModelTraits::no_stream_options},
    {"no_response_format", &ModelTraits::no_response_format},
    {"no_parallel_tool_calls", &ModelTraits::no_parallel_tool_calls},
    {"no_strict", &ModelTraits::no_strict},
    {"no_temperature", &ModelTraits::no_temperature},
    {"no_system_role", &ModelTraits::no_system_role},
    {"no_given_reasoning", &ModelTraits::no_given_reasoning},
    {"takes_given_reasoning", &ModelTraits::takes_given_reasoning},
    {"no_own_reasoning", &ModelTraits::no_own_reasoning},
    {"wants_own_calls", &ModelTraits::wants_own_calls},
};

}  // namespace

std::string traits_json(const ModelTraits& traits, std::string_view origin) {
  JsonWriter json;
  json.begin_object().member("origin", origin);
  for (const NamedLimit& named : token_limits) {
    if (traits.token_limit == named.limit) json.member("token_limit", named.name);
  }
  for (const NamedTrait& named : named_traits) {
    if (traits.*named.trait) json.member(named.name, true);
  }
  if (traits.context_tokens > 0) json.member("context_tokens", traits.context_tokens);
  return json.end_object().take();
}

ModelTraits traits_from(std::string_view json, std::string_view origin) {
  ModelTraits traits;
  std::optional<Json> stored = parse_json_or_nothing(json);
  if (!stored || stored->text_or("origin") != origin) return traits;
  for (const NamedLimit& named : token_limits) {
    if (stored->text_or("token_limit") == named.name) traits.token_limit = named.limit;
  }
  for (const NamedTrait& named : named_traits) {
    const Json* value = stored->find(named.name);
    const bool* is_so = value == nullptr ? nullptr : value->as_boolean();
    traits.*named.trait = is_so != nullptr && *is_so;
  }
  traits.context_tokens = stored->integer_or("context_tokens", 0);
  return traits;
}

}  // namespace hostler
