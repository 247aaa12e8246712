// State of an AG-UI client after the frames it got, checked by the protocol's rules 1.0: opened
// parts are closed, nothing is outside of a run, every call is whole. tests/clients/agui.cjs checks
// the same streams with the official client.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/json.h"

namespace hostler::testing_support {

class AguiClient {
 public:
  // Frames of one answer or of several, without comments.
  void read(std::string_view frames) {
    constexpr std::string_view begin = "data: ";
    while (!frames.empty()) {
      size_t end = frames.find("\n\n");
      bool is_frame = frames.starts_with(begin) && end != frames.npos;
      EXPECT_TRUE(is_frame) << frames.substr(0, 200);
      if (!is_frame) return;
      std::string_view text = frames.substr(begin.size(), end - begin.size());
      std::optional<Json> event = parse_json_or_nothing(text);
      EXPECT_TRUE(event.has_value()) << text;
      if (!event) return;
      take(*event);
      if (HasFailure()) FAIL() << text;
      types.emplace_back(event->text_or("type"));
      last = std::move(*event);
      frames.remove_prefix(end + 2);
    }
  }
  bool is_over() const { return !in_run_; }

  std::vector<std::string> types;
  std::map<std::string, std::string> texts;      // by message
  std::map<std::string, std::string> reasoning;  // by message
  std::map<std::string, std::string> arguments;  // by call
  std::map<std::string, std::string> results;    // by call
  std::vector<std::string> order;                // of messages with text
  std::vector<std::string> calls;
  Json last;

  // All text, in its order.
  std::string text() const {
    std::string all;
    for (const std::string& id : order) all += texts.at(id);
    return all;
  }
  // Outcome with which the stream ended.
  std::string_view outcome() const {
    const Json* outcome = last.find("outcome");
    return outcome == nullptr ? "" : outcome->text_or("type");
  }
  const Json& interrupt() const {
    return last.find("outcome")->find("interrupts")->as_array()->at(0);
  }
  std::vector<std::string> pending() const {
    std::vector<std::string> ids;
    const Json* outcome = last.find("outcome");
    const Json* listed = outcome == nullptr ? nullptr : outcome->find("pendingToolCallIds");
    if (listed == nullptr) return ids;
    for (const Json& id : *listed->as_array()) ids.push_back(*id.as_text());
    return ids;
  }

 private:
  static bool HasFailure() { return testing::Test::HasFailure(); }

  void take(const Json& event) {
    std::string type(event.text_or("type"));
    if (type == "RUN_STARTED") {
      EXPECT_FALSE(in_run_);
      EXPECT_TRUE(event.find("threadId") != nullptr && event.find("runId") != nullptr);
      in_run_ = true;
      return;
    }
    if (type == "RUN_ERROR") {
      EXPECT_FALSE(event.text_or("message").empty());
      open_.clear();
      in_run_ = false;
      return;
    }
    EXPECT_TRUE(in_run_) << "outside of a run";
    if (type == "RUN_FINISHED") {
      EXPECT_EQ(open_, std::set<std::string>()) << "left open";
      in_run_ = false;
    } else if (type.starts_with("TOOL_CALL")) {
      take_call(type, event);
    } else {
      take_message(type, event);
    }
  }

  void take_call(const std::string& type, const Json& event) {
    std::string id(event.text_or("toolCallId"));
    if (type == "TOOL_CALL_START") {
      EXPECT_TRUE(open_.insert("call " + id).second);
      EXPECT_FALSE(event.text_or("toolCallName").empty());
      EXPECT_FALSE(event.text_or("parentMessageId").empty());
      EXPECT_TRUE(arguments.emplace(id, "").second) << "a call is shown twice";
      calls.push_back(id);
    } else if (type == "TOOL_CALL_ARGS") {
      EXPECT_TRUE(open_.contains("call " + id));
      arguments[id] += event.text_or("delta");
    } else if (type == "TOOL_CALL_END") {
      EXPECT_EQ(open_.erase("call " + id), 1U);
      EXPECT_TRUE(parse_json_or_nothing(arguments[id]));
    } else {
      EXPECT_EQ(type, "TOOL_CALL_RESULT");
      EXPECT_TRUE(arguments.contains(id)) << "the result of no call";
      EXPECT_TRUE(results.emplace(id, event.text_or("content")).second) << "a second result";
      EXPECT_TRUE(message_ids_.insert(std::string(event.text_or("messageId"))).second);
    }
  }

  void take_message(const std::string& type, const Json& event) {
    std::string id(event.text_or("messageId"));
    bool is_text = type.starts_with("TEXT_MESSAGE");
    std::string what = (is_text                                 ? "text "
                        : type.starts_with("REASONING_MESSAGE") ? "thought "
                                                                : "span ") +
                       id;
    if (type.ends_with("_START")) {
      EXPECT_TRUE(open_.insert(what).second);
      if (!what.starts_with("span ")) {
        EXPECT_TRUE(message_ids_.insert(id).second) << "a message begins twice";
      }
      if (is_text) order.push_back(id);
    } else if (type.ends_with("_CONTENT")) {
      EXPECT_TRUE(open_.contains(what));
      (is_text ? texts : reasoning)[id] += event.text_or("delta");
    } else {
      EXPECT_TRUE(type.ends_with("_END")) << type;
      EXPECT_EQ(open_.erase(what), 1U);
    }
  }

  bool in_run_ = false;
  std::set<std::string> open_;
  std::set<std::string> message_ids_;
};

}  // namespace hostler::testing_support
