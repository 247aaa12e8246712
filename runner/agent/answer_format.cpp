// See runner/agent/answer_format.h.
#include "runner/agent/answer_format.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <variant>
#include <vector>

#include "lib/answer_repair.h"
#include "lib/ascii.h"
#include "lib/json_bounds.h"
#include "lib/loop/wait.h"
#include "lib/utf8.h"
#include "runner/models/format_words.h"
#include "runner/models/run_failure.h"

namespace hostler::runner {
namespace {

// Longer ones take too much of a loop's time (lib/json_schema/schema.h).
constexpr size_t loop_bytes_max = 64 * 1024;
// Length of a reported fault, parts of which are the model's own words.
constexpr size_t pointer_bytes_max = 300;
constexpr size_t message_bytes_max = 500;
constexpr size_t reason_bytes_max = 400;

using Faults = std::vector<json_schema::ValueFault>;

// JSON that was read already, without the white space between its values. Numbers stay as they
// were written, which a double would not keep.
std::string compact(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  bool is_in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    char c = json[i];
    if (!is_in_text && (c == ' ' || c == '\t' || c == '\r' || c == '\n')) continue;
    out += c;
    if (is_in_text && c == '\\' && i + 1 < json.size()) out += json[++i];
    if (c == '"') is_in_text = !is_in_text;
  }
  return out;
}

AnswerVerdict misfit(const Faults& faults) {
  AnswerVerdict verdict;
  JsonWriter errors;
  errors.begin_array();
  verdict.repair = std::string(answer_repair_opening) + " The fault:";
  for (const json_schema::ValueFault& fault : faults) {
    std::string_view pointer = utf8_prefix(fault.pointer, pointer_bytes_max);
    std::string_view message = utf8_prefix(fault.message, message_bytes_max);
    errors.begin_object().member("pointer", pointer).member("message", message).end_object();
    std::string words(pointer);
    if (!pointer.empty()) words += ": ";
    words += message;
    verdict.repair += "\n- " + words;
    if (verdict.reason.empty()) verdict.reason = utf8_prefix(words, reason_bytes_max);
  }
  verdict.repair += "\n" + std::string(answer_repair_closing);
  verdict.errors_json = errors.end_array().take();
  return verdict;
}

std::string_view trimmed(std::string_view text) { return ascii::trimmed(text, ascii::white_space); }

bool begins_with_word(std::string_view text, std::string_view word) {
  return ascii::equal_ignoring_case(text.substr(0, word.size()), word);
}

struct ThoughtTags {
  std::string_view begin;
  std::string_view end;
};
constexpr ThoughtTags thought_tags[] = {{"<think>", "</think>"}, {"<thinking>", "</thinking>"}};

// Without the blocks of thoughts that the text begins with. Templates of some models put the
// opening tag into the prompt: then the text begins with the thoughts and has the closing tag only.
std::string_view without_thoughts(std::string_view text) {
  std::string_view rest = trimmed(text);
  for (const ThoughtTags& tags : thought_tags) {
    while (begins_with_word(rest, tags.begin)) {
      size_t end = rest.find(tags.end);
      if (end == std::string_view::npos) return rest;
      rest = trimmed(rest.substr(end + tags.end.size()));
    }
  }
  bool may_be_json = rest.starts_with('{') || rest.starts_with('[') || rest.starts_with('"');
  size_t end = may_be_json ? std::string_view::npos : rest.find(thought_tags[0].end);
  if (end == std::string_view::npos) return rest;
  return trimmed(rest.substr(end + thought_tags[0].end.size()));
}

// Returns the content of a Markdown code fence that is the whole text, with or without a language.
std::string_view without_fence(std::string_view text) {
  size_t ticks = std::min(text.find_first_not_of('`'), text.size());
  if (ticks < 3) return text;
  std::string_view fence = text.substr(0, ticks);
  std::string_view rest = text.substr(ticks);
  auto is_of_language = [](char c) { return ascii::is_letter_or_digit(c) || c == '-' || c == '_'; };
  while (!rest.empty() && is_of_language(rest.front())) rest.remove_prefix(1);
  rest = trimmed(rest);
  if (rest.ends_with(fence)) rest.remove_suffix(ticks);
  return trimmed(rest);
}

AnswerVerdict checked_answer(const AnswerFormat& format, std::string_view text) {
  std::string_view json = unwrapped_answer(text);
  std::variant<Json, JsonFault> parsed = parse_bounded_json(json, json_values_of_peer_max);
  if (const JsonFault* fault = std::get_if<JsonFault>(&parsed)) {
    size_t wrapping = json.empty() ? text.size() : static_cast<size_t>(json.data() - text.data());
    size_t offset = fault->offset + wrapping;
    return misfit({{.keyword = "",
                    .message = "the answer must be JSON; at byte " + std::to_string(offset) + ": " +
                               fault->message}});
  }
  const Json& value = std::get<Json>(parsed);
  if (!format.declared.has_schema && !value.is_object()) {
    return misfit({{.keyword = "type", .message = "the answer must be a JSON object"}});
  }
  if (format.schema) {
    json_schema::Verdict checked = format.schema->check(value);
    if (!checked.fits) return misfit(checked.faults);
  }
  AnswerVerdict verdict;
  verdict.output = compact(json);
  return verdict;
}

}  // namespace

std::string_view unwrapped_answer(std::string_view text) {
  return without_fence(without_thoughts(text));
}

AnswerFormat read_answer_format(std::string_view json) {
  AnswerFormat format;
  std::optional<Json> declared = parse_json_or_nothing(json);
  const Json* schema = declared ? declared->find("schema") : nullptr;
  if (schema == nullptr) return format;
  format.declared.has_schema = true;
  format.declared.name = declared->text_or("name");
  format.declared.description = declared->text_or("description");
  format.declared.schema = schema->dump();
  if (const Json* strict = declared->find("strict"); strict != nullptr && strict->as_boolean()) {
    format.declared.strict = *strict->as_boolean();
  }
  std::variant<json_schema::Schema, json_schema::SchemaFault> compiled =
      json_schema::Schema::compile(*schema);
  if (const json_schema::SchemaFault* fault = std::get_if<json_schema::SchemaFault>(&compiled)) {
    throw RunFailure("internal.error", "The run's schema is no longer accepted: " + fault->message);
  }
  format.schema = std::get<json_schema::Schema>(std::move(compiled));
  return format;
}

std::string format_instruction(ProviderKind kind, const ResponseFormat& format) {
  // OpenAI wants the word in the prompt, too, when it is to answer with any object.
  if (!format.has_schema) return answer_form_words(format);
  // OpenAI's mode has a place for it.
  std::string purpose;
  if (kind != ProviderKind::openai) purpose = answer_purpose_words(format);
  if (has_own_mode(kind, format)) return purpose;
  if (!purpose.empty()) purpose += "\n\n";
  return purpose + answer_form_words(format);
}

Task<AnswerVerdict> check_answer(loop::Loop& loop, AnswerFormat format, std::string text) {
  if (text.size() <= loop_bytes_max) co_return checked_answer(format, text);
  std::function<AnswerVerdict()> work = [format, text] { return checked_answer(format, text); };
  AnswerVerdict verdict = co_await loop::on_thread<AnswerVerdict>(loop, std::move(work));
  co_return verdict;
}

}  // namespace hostler::runner
