// Format of a run's answer and its check: response_format as it was declared, its schema compiled,
// and the report to a model whose answer does not fit. Used by the agent loop.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/json_schema/schema.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "runner/models/model.h"

namespace hostler::runner {

struct AnswerFormat {
  ResponseFormat declared;
  std::optional<json_schema::Schema> schema;  // none: any object fits
};

struct AnswerVerdict {
  std::string output;       // the answer without white space between its values, when it fits
  std::string errors_json;  // else: an array of {pointer, message}
  std::string repair;       // and what the model is told
  std::string reason;       // and, of the first error, what the client is, at most 400 bytes
  bool fits() const { return !output.empty(); }
};

// Reads the form in which runs store it; the API accepts no other.
AnswerFormat read_answer_format(std::string_view json);

// Text of the prompt if the provider has no mode of its own; otherwise empty.
std::string format_instruction(ProviderKind kind, const ResponseFormat& format);

// The part of an answer that is to be JSON: without <think> blocks before it, and without a code
// fence that all of the rest stands in. What is no JSON is left for check_answer() to refuse.
std::string_view unwrapped_answer(std::string_view text);

// Reads unwrapped_answer(text). Long texts are read on a thread of the pool.
Task<AnswerVerdict> check_answer(loop::Loop& loop, AnswerFormat format, std::string text);

}  // namespace hostler::runner
