// See tests/support/rows/function_tools.h.
#include "tests/support/rows/function_tools.h"

#include <fmt/format.h>

namespace hostler::testing_support {

std::string city_tool(std::string_view name) {
  return fmt::format(R"({{"type":"function","name":"{}","description":"Tells of a city.",)"
                     R"("parameters":{{"type":"object","properties":{{"city":)"
                     R"({{"type":"string","maxLength":20}}}},"required":["city"],)"
                     R"("additionalProperties":false}}}})",
                     name);
}

std::string run_with_tools(const std::vector<std::string>& tools, std::string_view further) {
  std::string json = R"({"tools":[)";
  for (const std::string& tool : tools) json += (json.ends_with('[') ? "" : ",") + tool;
  json += "]";
  if (!further.empty()) json += "," + std::string(further);
  return json + "}";
}

Answer AskingRun::answer(std::string_view results) const {
  return client.post(path(), fmt::format(R"({{"results":{}}})", results));
}

std::string AskingRun::result(size_t nth, std::string_view output) const {
  return fmt::format(R"({{"tool_call_id":"{}","output":{}}})", call_ids.at(nth), output);
}

Answer AskingRun::give(size_t nth, std::string_view output) const {
  return answer("[" + result(nth, output) + "]");
}

RunStory AskingRun::end() const {
  wait_for_status(client, run_id, "completed");
  return story_of(client, run_id);
}

AskingRun asking_run(const Client& client, const std::string& run_id) {
  AskingRun asking{client, run_id, {}};
  EXPECT_EQ(wait_for_status(client, run_id, "waiting_for_input"), "waiting_for_input");
  std::vector<Json> requests = story_of(client, run_id).all("run.waiting_for_input");
  const Json* calls = requests.empty() ? nullptr : requests.back().find("calls");
  EXPECT_NE(calls, nullptr) << run_id << " asks for no results";
  if (calls == nullptr) return asking;
  for (const Json& call : *calls->as_array()) {
    asking.call_ids.emplace_back(call.text_or("tool_call_id"));
  }
  return asking;
}

AskingRun start_asking(const Client& client, std::string_view script, std::string_view further) {
  std::string body = run_with_tools({city_tool("weather"), city_tool("traffic")}, further);
  return asking_run(client, start_output(client, script, body));
}

}  // namespace hostler::testing_support
