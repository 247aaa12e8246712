// See runner/models/finish_reasons.h.
#include "runner/models/finish_reasons.h"

#include <string>

#include "lib/ascii.h"

namespace hostler {
namespace {

struct Row {
  std::string_view word;  // in lower case
  FinishReason reason;
  bool is_fault = false;
};

constexpr FinishReason fault = FinishReason::none;

// clang-format off
constexpr Row words[] = {
    {"stop", FinishReason::stop},
    {"end_turn", FinishReason::stop},              // Anthropic, Bedrock
    {"stop_sequence", FinishReason::stop},
    {"pause_turn", FinishReason::stop},            // Anthropic: its own tools paused the turn
    {"eos", FinishReason::stop},
    {"eos_token", FinishReason::stop},             // TGI
    {"complete", FinishReason::stop},              // Cohere
    {"completed", FinishReason::stop},
    {"finish", FinishReason::stop},
    {"finished", FinishReason::stop},
    {"done", FinishReason::stop},
    {"end", FinishReason::stop},
    {"normal", FinishReason::stop},
    {"length", FinishReason::length},
    {"max_tokens", FinishReason::length},          // Anthropic, Gemini
    {"max_output_tokens", FinishReason::length},   // OpenAI's Responses
    {"max_completion_tokens", FinishReason::length},
    {"max_length", FinishReason::length},
    {"model_length", FinishReason::length},        // Mistral
    {"model_context_window_exceeded", FinishReason::length},
    {"context_length_exceeded", FinishReason::length},
    {"token_limit", FinishReason::length},
    {"incomplete", FinishReason::length},
    {"tool_calls", FinishReason::tool_calls},
    {"tool_call", FinishReason::tool_calls},
    {"tool-calls", FinishReason::tool_calls},
    {"tool_use", FinishReason::tool_calls},        // Anthropic
    {"function_call", FinishReason::tool_calls},   // OpenAI before tools
    {"function_calls", FinishReason::tool_calls},
    {"content_filter", FinishReason::content_filter},
    {"content-filter", FinishReason::content_filter},
    {"content_filtered", FinishReason::content_filter},  // Bedrock
    {"guardrail_intervened", FinishReason::content_filter},
    {"refusal", FinishReason::content_filter},     // Anthropic
    {"safety", FinishReason::content_filter},      // Gemini, with the next five
    {"image_safety", FinishReason::content_filter},
    {"recitation", FinishReason::content_filter},
    {"prohibited_content", FinishReason::content_filter},
    {"blocklist", FinishReason::content_filter},
    {"spii", FinishReason::content_filter},
    {"language", FinishReason::content_filter},
    {"sensitive", FinishReason::content_filter},   // Zhipu
    {"error", fault, true},                        // OpenRouter, vLLM, Cohere
    {"error_toxic", FinishReason::content_filter}, // Cohere
    {"network_error", fault, true},                // Zhipu
    {"insufficient_system_resource", fault, true}, // DeepSeek
    {"abort", fault, true},                        // vLLM, SGLang
    {"engine_overloaded", fault, true},            // Kimi
    {"malformed_function_call", fault, true},      // Gemini, with the next two
    {"unexpected_tool_call", fault, true},
    {"too_many_tool_calls", fault, true},
};

struct Hint {
  std::string_view part;
  FinishReason reason;
};

// Parts of words that the table lacks; the first that is found decides.
constexpr Hint hints[] = {
    {"error", fault},       {"fail", fault},       {"abort", fault},       {"cancel", fault},
    {"timeout", fault},     {"timed", fault},      {"overload", fault},    {"unavailable", fault},
    {"exhaust", fault},     {"insufficient", fault}, {"malformed", fault}, {"exception", fault},
    {"invalid", fault},     {"crash", fault},      {"interrupt", fault},   {"disconnect", fault},
    {"broken", fault},      {"network", fault},    {"rate_limit", fault},  {"quota", fault},
    {"too_many", fault},    {"unexpected", fault}, {"reset", fault},       {"fault", fault},
    {"kill", fault},        {"preempt", fault},    {"evict", fault},
    {"length", FinishReason::length},              {"max_", FinishReason::length},
    {"token", FinishReason::length},               {"limit", FinishReason::length},
    {"filter", FinishReason::content_filter},      {"safety", FinishReason::content_filter},
    {"policy", FinishReason::content_filter},      {"prohibit", FinishReason::content_filter},
    {"block", FinishReason::content_filter},       {"moderat", FinishReason::content_filter},
    {"tool", FinishReason::tool_calls},            {"function", FinishReason::tool_calls},
};
// clang-format on

}  // namespace

NamedFinish finish_named(std::string_view word) {
  constexpr size_t word_bytes_max = 64;
  std::string lower = ascii::lower_case(word.substr(0, word_bytes_max));
  for (const Row& row : words) {
    if (row.word == lower) return {row.reason, row.is_fault, true};
  }
  for (const Hint& hint : hints) {
    if (lower.find(hint.part) == lower.npos) continue;
    return {hint.reason, hint.reason == fault, false};
  }
  return {};
}

}  // namespace hostler
