// Requests of an AG-UI client to POST /v1/agui and their answers, for its tests.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tests/support/clients/agui_client.h"
#include "tests/support/rigs/run_harness.h"

namespace hostler::testing_support {

inline const std::string agui_route = "/v1/agui";

// Without context, but where `further` has it.
inline std::string agui_body(std::string_view thread, std::string_view messages,
                             std::string_view further = "") {
  bool has_context = further.find("\"context\":") != further.npos;
  return fmt::format(R"({{"threadId":{},"runId":"r1","state":{{}},"messages":[{}],{})"
                     R"("forwardedProps":{{}}{}}})",
                     json_quote(thread), messages, has_context ? "" : "\"context\":[],", further);
}
inline std::string agui_says(std::string_view thread, std::string_view text,
                             std::string_view further = "") {
  return agui_body(
      thread, fmt::format(R"({{"id":"m","role":"user","content":{}}})", json_quote(text)), further);
}
inline std::string agui_result(std::string_view call_id, std::string_view content) {
  return fmt::format(R"({{"id":"t","role":"tool","toolCallId":{},"content":{}}})",
                     json_quote(call_id), json_quote(content));
}
// payload: JSON; empty: none.
inline std::string agui_resumes(std::string_view thread, std::string_view interrupt_id,
                                std::string_view status, std::string_view payload = "",
                                std::string_view messages = "") {
  std::string given = payload.empty() ? "" : fmt::format(R"(,"payload":{})", payload);
  return agui_body(thread, messages,
                   fmt::format(R"(,"resume":[{{"interruptId":{},"status":"{}"{}}}])",
                               json_quote(interrupt_id), status, given));
}
inline const std::string agui_tools =
    R"(,"tools":[{"name":"weather","description":"d","parameters":{"type":"object",)"
    R"("required":["city"],"properties":{"city":{"type":"string"}}}},)"
    R"({"name":"traffic","description":"d"}])";

// The stream without its comments.
inline std::string agui_frames(const Answer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("content-type"), "text/event-stream");
  constexpr std::string_view begin = ": ok\n\n";
  EXPECT_TRUE(answer.body.starts_with(begin)) << answer.body;
  if (answer.status != 200 || !answer.body.starts_with(begin)) return "";
  std::string frames = answer.body.substr(begin.size());
  constexpr std::string_view ping = ": ping\n\n";
  for (size_t at = 0; (at = frames.find(ping)) != std::string::npos;) frames.erase(at, ping.size());
  return frames;
}
// Returns what one answer tells.
inline AguiClient agui_stream(const Answer& answer) {
  AguiClient client;
  client.read(agui_frames(answer));
  EXPECT_TRUE(client.is_over()) << answer.body;
  return client;
}

}  // namespace hostler::testing_support
