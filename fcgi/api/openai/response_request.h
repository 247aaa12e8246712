// The body of POST /v1/openai/responses as a plain value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fcgi/api/openai/model_name.h"
#include "fcgi/api/openai/openai_marks.h"
#include "fcgi/api/openai/response_items.h"
#include "fcgi/http/handler.h"

namespace hostler {

struct NewResponse {
  ModelName model;
  ResponseInput input;
  std::optional<std::string> previous_run_id;
  std::optional<std::string> thread_id;  // of the conversation
  std::optional<std::string> sampling;
  std::optional<std::string> response_format;
  std::optional<std::string> tools;
  OpenaiMarks marks;
  std::string facts;  // the members of the answer that repeat the request; instructions too
  bool keeps = true;
  bool is_stream = false;
  bool is_background = false;
};

// Throws the 422 of all faults, then the 404 of a model, response or conversation that none can be.
NewResponse read_new_response(const Input& input);

// The run's id in the id of a response; throws the 404 of one that has not its form. member: where
// a body has it; empty: the path does.
std::string run_id_in(std::string_view response, std::string_view member = {});
// The thread's in that of a conversation; likewise.
std::string thread_id_in(std::string_view conversation, std::string_view member = {});

}  // namespace hostler
