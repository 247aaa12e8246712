// Reads the new part of a client's RunAgentInput (AG-UI). The thread keeps the conversation, so
// only the end of `messages` is read, and `state` is ignored.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fcgi/api/files/given_parts.h"
#include "fcgi/api/runs/confirmation.h"
#include "fcgi/api/runs/run_choice.h"
#include "fcgi/http/input.h"

namespace hostler {

// Answer to an interrupt, in all readings, because only the run knows its question.
struct AguiAnswer {
  std::string interrupt_id;
  bool abandons = false;
  std::optional<std::string> text;  // of an answer to a question
  Confirmation confirmation;
  std::optional<std::string> elicited;  // of an answer to the server of a remote tool, JSON
};

struct AguiInput {
  std::string thread_id;
  std::string run_id;
  // One of the three.
  std::optional<AguiAnswer> answer;
  std::optional<std::string> results;  // JSON, as POST /v1/runs/{run_id}/tool-results has them
  std::string message;
  std::optional<std::string> parts;  // of the message, JSON, when it has images
  // Values for the run that a message begins.
  RunChoice choice;
  std::string metadata;
  std::optional<std::string> end_user;  // of the thread, when it is made
  std::optional<std::string> tools;     // as the run keeps them
  std::vector<std::string> tool_names;
  std::string context;  // what its model is told behind the persona's prompt
};

// Throws the 422 of what is at fault. limits: of images in the body.
AguiInput read_agui_input(Fields fields, const UploadLimits& limits);

}  // namespace hostler
