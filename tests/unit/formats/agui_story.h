// Runs as events, for tests of AG-UI's encoder, and what a client makes of its streams.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "lib/formats/formats.h"
#include "lib/formats/frame_batch.h"
#include "lib/json.h"
#include "tests/support/clients/agui_client.h"
#include "tests/support/story.h"

namespace hostler::agui_story {

using testing_support::AguiClient;
using testing_support::completed;
using testing_support::delta;
using testing_support::format_of;
using testing_support::Story;
using testing_support::thought;
using Event = testing_support::Told;

constexpr const char* run_id = "01a20000-0000-7000-8000-000000000001";
constexpr const char* facts = R"({"threadId":"chat","runId":"r1","tools":["weather","traffic"]})";

inline const Event started = {"run.started", R"({"thread_id":"t","persona_id":"normal@1"})"};
inline const Event provided = {"run.input_provided", R"({"request_id":"q"})"};
inline Event call(const std::string& id, const std::string& name) {
  return {
      "tool.call",
      fmt::format(R"({{"tool_call_id":"{}","tool_name":"{}","arguments":{{"a":1}}}})", id, name)};
}
inline Event result(const std::string& id) {
  return {"tool.result",
          fmt::format(R"({{"tool_call_id":"{}","tool_name":"x","result":{{"b":2}}}})", id)};
}
inline Event failure(const std::string& id) {
  return {"tool.result", fmt::format(R"({{"tool_call_id":"{}","tool_name":"x","error":)"
                                     R"({{"code":"tool.denied","message":"no"}}}})",
                                     id)};
}
inline Event asking(const std::string& kind, const std::string& id, const std::string& name) {
  return {"run.waiting_for_input",
          fmt::format(R"({{"request_id":"q","kind":"{}","message":"well?","tool_call_id":"{}",)"
                      R"("tool_name":"{}","arguments":{{"a":1}}}})",
                      kind, id, name)};
}
struct Asked {
  std::string id;
  std::string by = "client";
};
inline Event awaiting(const std::vector<Asked>& calls) {
  std::string list;
  for (const Asked& each : calls) {
    list += fmt::format(R"({}{{"tool_call_id":"{}","tool_name":"weather","arguments":{{"a":3}},)"
                        R"("answered_by":"{}"}})",
                        list.empty() ? "" : ",", each.id, each.by);
  }
  return {"run.waiting_for_input",
          R"({"request_id":"q","kind":"tool_results","message":"","calls":[)" + list + "]}"};
}
inline Event discarding(const std::string& type, int64_t seq) {
  return {type, fmt::format(R"({{"attempt":1,"discard_after_seq":{}}})", seq)};
}

inline events::EventBatch events_of(const Story& story, size_t from = 0, size_t count = SIZE_MAX) {
  events::EventBatch events(run_id);
  for (size_t i = from; i < story.size() && i - from < count; ++i) {
    bool is_last = events::is_terminal_event(story[i].type);
    events.append(static_cast<int64_t>(i) + 1, story[i].type, story[i].data,
                  "2026-11-20T15:04:05.123Z",
                  is_last ? R"({"input_tokens":12,"output_tokens":5,"cache_read_tokens":4})" : "");
  }
  return events;
}

// The stream that begins behind the event with the number, to its end.
inline formats::FrameBatch stream_behind(std::string_view name, const Story& story, int64_t seq,
                                         bool is_checked = false) {
  int64_t frame = seq == 0 ? 0 : formats::frame_number(seq, formats::frames_of_event - 1);
  formats::RunFacts run{run_id, facts, is_checked};
  formats::EncoderState state = formats::begin_behind(format_of(name), run, frame);
  return formats::FrameBatch(state, events_of(story), 0);
}
inline AguiClient reader_of(const formats::FrameBatch& batch) {
  AguiClient client;
  client.read(batch.frames());
  EXPECT_EQ(client.is_over(), batch.is_final());
  return client;
}
inline AguiClient stream_of(const Story& story, bool is_checked = false) {
  return reader_of(stream_behind("agui", story, 0, is_checked));
}
}  // namespace hostler::agui_story
