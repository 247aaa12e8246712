// State of the AI SDK's client after a UI message stream, in small: the parts of the message, as
// processUIMessageStream of the package ai puts them together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "lib/json.h"

namespace hostler {

// The data of each frame.
inline std::vector<std::string> ui_chunks_of(std::string_view frames) {
  std::vector<std::string> chunks;
  while (!frames.empty()) {
    size_t end = frames.find("\n\n");
    bool is_frame = frames.starts_with("data: ") && end != frames.npos;
    EXPECT_TRUE(is_frame) << frames.substr(0, 40);
    if (!is_frame) break;
    chunks.emplace_back(frames.substr(6, end - 6));
    frames.remove_prefix(end + 2);
  }
  return chunks;
}

class UiClient {
 public:
  // Answers how the stream ended: its finish reason, "abort", "error", or nothing.
  std::string read(std::string_view frames) {
    std::string end;
    for (const std::string& text : ui_chunks_of(frames)) {
      if (text == "[DONE]") break;
      std::optional<Json> chunk = parse_json_or_nothing(text);
      EXPECT_TRUE(chunk) << text;
      if (!chunk) continue;
      std::string_view type = chunk->text_or("type");
      if (type == "finish") end = chunk->text_or("finishReason");
      if (type == "abort" || type == "error") end = type;
      apply(*chunk, type);
    }
    return end;
  }
  // The client's own answers are in its parts before the stream continues: the outputs of its calls
  // as in `answered`, the parts after the answer, its approvals as in `whole`, the last.
  void answer(const std::string& answered, const std::string& whole) {
    std::optional<Json> outputs = parse_json_or_nothing(answered);
    std::optional<Json> approvals = parse_json_or_nothing(whole);
    for (Json& part : parts_) {
      const Json* output = same_call(*outputs, part);
      const Json* approval = same_call(*approvals, part);
      if (output != nullptr && part.find("providerExecuted") == nullptr) part = *output;
      if (approval != nullptr) approval = approval->find("approval");
      if (approval != nullptr && part.find("approval") != nullptr) set(part, "approval", *approval);
    }
  }
  std::string parts() const { return Json(parts_).dump(); }

 private:
  static void set(Json& part, std::string_view name, Json value) {
    for (Json::Member& member : *part.as_object()) {
      if (member.first == name) {
        member.second = std::move(value);
        return;
      }
    }
    part.as_object()->emplace_back(name, std::move(value));
  }
  static void drop(Json& part, std::string_view name) {
    std::erase_if(*part.as_object(), [&](const Json::Member& each) { return each.first == name; });
  }
  static Json text(std::string_view value) { return Json(std::string(value)); }

  static const Json* same_call(const Json& parts, const Json& part) {
    if (part.find("toolCallId") == nullptr) return nullptr;
    for (const Json& other : *parts.as_array()) {
      if (other.text_or("toolCallId") == part.text_or("toolCallId") &&
          other.text_or("type") == part.text_or("type")) {
        return &other;
      }
    }
    return nullptr;
  }
  Json* with(std::string_view name, std::string_view value) {
    for (size_t i = parts_.size(); i-- > 0;) {
      if (parts_[i].text_or(name) == value) return &parts_[i];
    }
    return nullptr;
  }
  Json& call_of(const Json& chunk) {
    Json* part = with("toolCallId", chunk.text_or("toolCallId"));
    EXPECT_NE(part, nullptr) << chunk.dump();
    return part == nullptr ? nothing_ : *part;
  }

  void apply(const Json& chunk, std::string_view type) {
    if (type == "start-step") {
      Json& part = parts_.emplace_back(Json::Object());
      set(part, "type", text("step-start"));
    } else if (type == "text-start" || type == "reasoning-start") {
      Json& part = parts_.emplace_back(Json::Object());
      bool is_text = type == "text-start";
      set(part, "type", text(is_text ? "text" : "reasoning"));
      set(part, "id", *chunk.find("id"));
      set(part, "text", text(""));
      set(part, "state", text("streaming"));
    } else if (type == "text-delta" || type == "reasoning-delta") {
      Json* part = with("id", chunk.text_or("id"));
      ASSERT_NE(part, nullptr) << chunk.dump();
      set(*part, "text",
          text(std::string(part->text_or("text")) + std::string(chunk.text_or("delta"))));
    } else if (type == "text-end" || type == "reasoning-end") {
      Json* part = with("id", chunk.text_or("id"));
      ASSERT_NE(part, nullptr) << chunk.dump();
      if (type == "text-end") drop(*part, "id");
      set(*part, "state", text("done"));
    } else if (type == "tool-input-available") {
      take_input(chunk);
    } else if (type.starts_with("tool-")) {
      take_tool(chunk, type);
    } else if (type.starts_with("data-")) {
      Json* part = with("id", chunk.text_or("id"));
      if (part == nullptr) {
        parts_.push_back(chunk);
      } else {
        set(*part, "data", *chunk.find("data"));
      }
    }
  }

  void take_input(const Json& chunk) {
    Json* known = with("toolCallId", chunk.text_or("toolCallId"));
    Json& part = known == nullptr ? parts_.emplace_back(Json::Object()) : *known;
    const Json* approval = part.find("approval");
    Json kept = approval == nullptr ? Json() : *approval;
    part = Json(Json::Object());
    set(part, "type", text("tool-" + std::string(chunk.text_or("toolName"))));
    set(part, "toolCallId", *chunk.find("toolCallId"));
    set(part, "state", text("input-available"));
    set(part, "input", *chunk.find("input"));
    const Json* runs_here = chunk.find("providerExecuted");
    if (runs_here != nullptr && *runs_here->as_boolean()) set(part, "providerExecuted", *runs_here);
    if (!kept.is_null()) set(part, "approval", std::move(kept));
  }

  void take_tool(const Json& chunk, std::string_view type) {
    if (type == "tool-approval-response") {
      for (Json& part : parts_) {
        const Json* approval = part.find("approval");
        if (approval == nullptr || approval->text_or("id") != chunk.text_or("approvalId")) continue;
        Json answered{Json::Object()};
        set(answered, "id", *chunk.find("approvalId"));
        set(answered, "approved", *chunk.find("approved"));
        if (chunk.find("reason") != nullptr) set(answered, "reason", *chunk.find("reason"));
        set(part, "approval", std::move(answered));
      }
      return;
    }
    Json& part = call_of(chunk);
    if (type == "tool-approval-request") {
      Json approval{Json::Object()};
      set(approval, "id", *chunk.find("approvalId"));
      set(part, "state", text("approval-requested"));
      set(part, "approval", std::move(approval));
      return;
    }
    const Json* approval = part.find("approval");
    Json kept = approval == nullptr ? Json() : *approval;
    const Json* runs_here = part.find("providerExecuted");
    Json ran_here = runs_here == nullptr ? Json() : *runs_here;
    drop(part, "approval");
    drop(part, "providerExecuted");
    if (type == "tool-output-available") {
      set(part, "state", text("output-available"));
      set(part, "output", *chunk.find("output"));
    } else if (type == "tool-output-error") {
      set(part, "state", text("output-error"));
      set(part, "errorText", *chunk.find("errorText"));
    } else {
      set(part, "state", text("output-denied"));
    }
    if (!ran_here.is_null()) set(part, "providerExecuted", std::move(ran_here));
    if (!kept.is_null()) set(part, "approval", std::move(kept));
  }

  Json::Array parts_;
  Json nothing_{Json::Object()};
};

}  // namespace hostler
