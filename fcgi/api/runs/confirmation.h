// Reads a human's answer to a confirmation, the content of POST /v1/runs/{run_id}/input, as a
// decision. It is the only reader: run_input() in the database stores its result, and the daemon
// makes the calls that a stored decision approves. Called by fcgi/api/runs/runs.cpp before it is
// known whether the run asks for a confirmation; never guesses.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/json.h"

namespace hostler {

struct Confirmation {
  std::optional<std::string> decision;   // approve or deny; nothing: the content is neither
  std::optional<std::string> arguments;  // of an approval: a JSON object, instead of the model's
  std::optional<std::string> reason;
  // Without a decision, why: neither, decision, arguments, reason, member, denied_arguments or
  // json, as run_input() has it.
  std::optional<std::string> fault;
  std::optional<std::string> member;    // of member: the name, which no decision has
  std::optional<JsonFault> json_fault;  // of json
};

// approve or deny in any case, with blanks around; or {"decision": "approve" or "deny",
// "arguments"?: {…}, "reason"?: "…"}, as strict as a body (lib/json.h). With any other member it is
// refused, because an author of "argument" meant another call than the one that would be made.
Confirmation read_confirmation(std::string_view content);

}  // namespace hostler
