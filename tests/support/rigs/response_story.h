// Runs as OpenAI's responses, for the tests of that form: what a run says, as events, and what its
// stream is made of.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "lib/formats/formats.h"
#include "lib/formats/frame_batch.h"
#include "lib/json.h"
#include "tests/support/story.h"

namespace hostler::testing_support {

// 0x019aa1c0a800 ms behind 1970.
inline constexpr const char* run_id = "019aa1c0-a800-7000-8000-000000000001";
inline constexpr int64_t made_at = 1763650349;
inline constexpr const char* facts = R"({"model":"normal@1","instructions":null})";

inline const Told started = {"run.started",
                             R"({"thread_id":"t","persona_id":"normal@1","model":"m"})"};
inline const Told cancelled = {"run.cancelled", R"({"reason":"requested"})"};
inline const Told call = {"tool.call",
                          R"({"tool_call_id":"c","tool_name":"web_search","arguments":{}})"};
inline const Told result = {"tool.result",
                            R"({"tool_call_id":"c","tool_name":"web_search","result":1})"};
inline Told failed(const std::string& code) {
  return {"run.failed", fmt::format(R"({{"code":"{}","message":"No."}})", code)};
}
inline Told discarding(const std::string& type, int64_t seq) {
  return {type, fmt::format(R"({{"attempt":1,"discard_after_seq":{}}})", seq)};
}
inline Told calls_left(int count) {
  std::string calls;
  for (int i = 0; i < count; ++i) {
    calls += fmt::format(
        R"({}{{"tool_call_id":"call_{}","tool_name":"weather","arguments":{{"nth":{}}}}})",
        i == 0 ? "" : ",", i, i);
  }
  return {"run.tool_calls", fmt::format(R"({{"calls":[{}]}})", calls)};
}

inline events::EventBatch events_of(const Story& story, size_t from = 0, size_t count = SIZE_MAX) {
  events::EventBatch events(run_id);
  for (size_t i = from; i < story.size() && i - from < count; ++i) {
    bool is_last = events::is_terminal_event(story[i].type);
    events.append(static_cast<int64_t>(i) + 1, story[i].type, story[i].data,
                  "2025-11-20T15:30:00.500Z",
                  is_last ? R"({"input_tokens":12,"output_tokens":5,"cache_read_tokens":4,)"
                            R"("cache_write_tokens":2})"
                          : "");
  }
  return events;
}

inline formats::FrameBatch told_as(const std::string& name, const Story& story,
                                   bool is_checked = false) {
  formats::EncoderState state = format_of(name).begin({run_id, facts, is_checked});
  return formats::FrameBatch(state, events_of(story), 0);
}

// Each frame, with its end.
inline std::vector<std::string> frames_of(std::string_view frames) {
  std::vector<std::string> parts;
  while (!frames.empty()) {
    size_t end = frames.find("\n\n");
    EXPECT_NE(end, frames.npos);
    if (end == frames.npos) break;
    parts.emplace_back(frames.substr(0, end + 2));
    frames.remove_prefix(end + 2);
  }
  return parts;
}

// The objects of a stream, in which each name of an event is that of its object.
inline std::vector<Json> objects_of(const std::string& frames) {
  std::vector<Json> objects;
  std::vector<std::string> parts = frames_of(frames);
  for (const std::string& part : parts) {
    if (part == "data: [DONE]\n\n") {
      EXPECT_EQ(&part, &parts.back());
      continue;
    }
    size_t data = part.find("\ndata: ");
    EXPECT_TRUE(part.starts_with("event: ") && data != part.npos) << part;
    std::optional<Json> object =
        parse_json_or_nothing(part.substr(data + 7, part.size() - data - 9));
    EXPECT_TRUE(object) << part;
    objects.push_back(std::move(object).value_or(Json(Json::Object())));
    EXPECT_EQ(objects.back().text_or("type"), part.substr(7, data - 7));
  }
  return objects;
}

inline std::vector<std::string> types_of(const std::vector<Json>& objects) {
  std::vector<std::string> types;
  for (const Json& object : objects) {
    std::string_view type = object.text_or("type");
    types.emplace_back(type.substr(type.find('.') + 1));
  }
  return types;
}

inline const Json& final_response(const std::vector<Json>& objects) {
  return *objects.back().find("response");
}

inline std::string output_text(const Json& response) {
  std::string text;
  for (const Json& item : *response.find("output")->as_array()) {
    if (item.text_or("type") != "message") continue;
    for (const Json& part : *item.find("content")->as_array()) text += part.text_or("text");
  }
  return text;
}

}  // namespace hostler::testing_support
