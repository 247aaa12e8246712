// See fcgi/api/openai/unsupported_members.h.
#include "fcgi/api/openai/unsupported_members.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "lib/http/openai_error.h"
#include "lib/json.h"

namespace hostler {
namespace {

// Values of clients that change nothing, as compact JSON.
constexpr auto harmless_values = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"n", "1"},
    {"best_of", "1"},
    {"logprobs", "false"},
    {"top_logprobs", "0"},
    {"logit_bias", "{}"},
    {"modalities", R"(["text"])"},
    {"function_call", R"("none")"},
    {"function_call", R"("auto")"},
    {"verbosity", R"("medium")"},
    {"response_format", R"({"type":"text"})"},
    {"text", "{}"},
    {"text", R"({"format":{"type":"text"}})"},
    {"reasoning", "{}"},
    {"top_k", "-1"},
    {"top_k", "0"},
    {"min_p", "0"},
    {"min_p", "0.0"},
    {"repetition_penalty", "1"},
    {"repetition_penalty", "1.0"},
    {"stop", R"("")"},
    {"instructions", R"("")"},
    {"prompt", R"("")"},
    {"background", "false"},
});

bool asks_for_nothing(std::string_view name, const Json& value) {
  if (value.is_null() || (value.is_array() && value.as_array()->empty())) return true;
  std::string text = value.dump();
  return std::any_of(harmless_values.begin(), harmless_values.end(), [&](const auto& harmless) {
    return harmless.first == name && harmless.second == text;
  });
}

}  // namespace

void refuse_members(Fields& fields, std::span<const UnsupportedMember> members) {
  for (const UnsupportedMember& member : members) {
    const Json* value = fields.any(member.name);
    if (value == nullptr || asks_for_nothing(member.name, *value)) continue;
    fields.fault(member.name, std::string(http::unsupported_parameter),
                 std::string(member.message));
  }
}

}  // namespace hostler
