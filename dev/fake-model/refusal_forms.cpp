// The tables of refusal_forms.h.
#include "dev/fake-model/refusal_forms.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "dev/fake-model/chat_checks.h"
#include "dev/fake-model/habits.h"

namespace hostler::fake_model {
namespace {

struct FormRow {
  std::string_view name;
  std::string_view body;  // MESSAGE stands for the words as a JSON text, WORDS for the words
  std::string_view content_type = "application/json";
};

constexpr FormRow forms[] = {
    {"error-text", R"({"error":MESSAGE})"},
    {"error-list", R"({"error":[{"message":MESSAGE}]})"},
    {"error-object", R"({"error":{"code":400,"message":MESSAGE,"status":"INVALID_ARGUMENT"}})"},
    {"nested", R"({"error":{"message":"Provider returned error","metadata":{"raw":MESSAGE}}})"},
    {"array", R"([{"error":{"code":400,"message":MESSAGE,"status":"INVALID_ARGUMENT"}}])"},
    {"detail", R"({"detail":MESSAGE})"},
    {"detail-list", R"({"detail":[{"type":"extra","loc":["body","seed"],"msg":MESSAGE}]})"},
    {"message", R"({"object":"error","message":MESSAGE,"code":400})"},
    {"errors", R"({"errors":[{"message":MESSAGE},{"message":"and more"}]})"},
    {"text", "WORDS", "text/plain"},
    {"html", "<html><head><title>WORDS</title></head><body><h1>x</h1></body></html>", "text/html"},
    {"empty", "", ""},
};

constexpr auto form_names = [] {
  std::array<std::string_view, std::size(forms)> all;
  for (size_t i = 0; i < std::size(forms); ++i) all[i] = forms[i].name;
  return all;
}();

std::string filled(std::string_view pattern, std::string_view mark, std::string_view value) {
  std::string text(pattern);
  for (size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + value.size())) {
    text.replace(at, mark.size(), value);
  }
  return text;
}

struct ContextRow {
  std::string_view server;
  std::string_view words;  // LIMIT and ASKED stand for the figures
  std::string_view form;   // of the body; empty: the wire form's own
};

constexpr ContextRow context_words[] = {
    {"openai",
     "This model's maximum context length is LIMIT tokens. However, your messages resulted in "
     "ASKED "
     "tokens. Please reduce the length of the messages.",
     ""},
    {"vllm",
     "This model's maximum context length is LIMIT tokens. However, you requested ASKED tokens in "
     "the messages, Please reduce the length of the messages.",
     "message"},
    {"llamacpp",
     "the request exceeds the available context size (LIMIT tokens), try increasing it: the "
     "request "
     "has ASKED tokens",
     "error-object"},
    {"anthropic", "prompt is too long: ASKED tokens > LIMIT maximum", ""},
    {"gemini",
     "The input token count (ASKED) exceeds the maximum number of tokens allowed (LIMIT).",
     "array"},
    {"mistral",
     "Prompt contains ASKED tokens and 0 draft tokens, too large for model with LIMIT maximum "
     "context length",
     "message"},
    {"tgi",
     "Input validation error: `inputs` tokens + `max_new_tokens` must be <= LIMIT. Given: ASKED "
     "`inputs` tokens and 20 `max_new_tokens`",
     "error-text"},
    {"groq", "Please reduce the length of the messages or completion.", ""},
    {"ollama", "the input length exceeds the context length", "error-text"},
    {"bedrock", "Input is too long for requested model.", "message"},
    {"openrouter",
     "This endpoint's maximum context length is LIMIT tokens. However, you requested about ASKED "
     "tokens (ASKED of text input).",
     "nested"},
    {"xai", "This model's maximum prompt length is LIMIT but the request contains ASKED tokens.",
     "error-text"},
    {"fastapi",
     "The prompt is too long for the context window of LIMIT tokens: the request has ASKED.",
     "detail"},
};

constexpr auto server_names = [] {
  std::array<std::string_view, std::size(context_words)> all;
  for (size_t i = 0; i < std::size(context_words); ++i) all[i] = context_words[i].server;
  return all;
}();

}  // namespace

std::span<const std::string_view> refusal_form_names() { return form_names; }

std::span<const std::string_view> context_refusal_names() { return server_names; }

Refusal refusal_in_form(Refusal refusal, std::string_view form) {
  for (const FormRow& row : forms) {
    if (row.name != form) continue;
    std::string body = filled(row.body, "MESSAGE", json_quote(refusal.message));
    refusal.body = filled(body, "WORDS", refusal.message);
    refusal.content_type = row.content_type;
  }
  return refusal;
}

Refusal context_refusal(std::string_view server, int64_t limit_tokens, int64_t asked_tokens) {
  for (const ContextRow& row : context_words) {
    if (row.server != server) continue;
    std::string words = filled(row.words, "LIMIT", std::to_string(limit_tokens));
    return refusal_in_form(refused(filled(words, "ASKED", std::to_string(asked_tokens))), row.form);
  }
  return refused("context_length_exceeded");
}

}  // namespace hostler::fake_model
