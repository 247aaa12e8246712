// Why a run ends as failed: the code and message of its run.failed event (contract section 4,
// Execution). Thrown wherever a run cannot go on; caught by runner/agent/supervise_run.cpp.
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace hostler {

struct RunFailure : std::exception {
  RunFailure(std::string code_, std::string message_)
      : code(std::move(code_)), message(std::move(message_)) {}
  const char* what() const noexcept override { return message.c_str(); }

  std::string code;     // run.… , model.… , credits.…
  std::string message;  // for the client: no secret, no raw body, no address of ours
};

}  // namespace hostler
