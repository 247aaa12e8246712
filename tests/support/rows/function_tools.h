// Function tools for tests of runs: what a run declares, and what its client answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/rigs/run_harness.h"

namespace hostler::testing_support {

// {"type":"function",…} of this name, whose arguments are {"city": a text}.
std::string city_tool(std::string_view name);
// {"tools":[…]} of them, with further members of the body ("\"persona_id\":\"p@1\"").
std::string run_with_tools(const std::vector<std::string>& tools, std::string_view further = "");

// A run that waits for results of the calls that this script makes of the tools weather and
// traffic.
struct AskingRun {
  Client client;
  std::string run_id;
  std::vector<std::string> call_ids;  // in the order of the calls

  std::string path() const { return "/v1/runs/" + run_id + "/tool-results"; }
  // results: [{…}] as JSON.
  Answer answer(std::string_view results) const;
  // The result of one call: {"tool_call_id":…,"output":…}.
  std::string result(size_t nth, std::string_view output) const;
  // One call's result, by itself.
  Answer give(size_t nth, std::string_view output) const;
  RunStory end() const;
};
AskingRun start_asking(const Client& client, std::string_view script,
                       std::string_view further = "");
// Waits until the run asks, and reads which calls.
AskingRun asking_run(const Client& client, const std::string& run_id);

}  // namespace hostler::testing_support
