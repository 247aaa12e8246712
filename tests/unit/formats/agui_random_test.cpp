// Random runs as AG-UI's events: whole across the requests of their client, and the same bytes
// wherever the events are parted.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/formats/agui_story.h"

namespace hostler {
namespace {

using namespace agui_story;  // NOLINT(google-build-using-namespace)

// A run as the daemon might write it; behind which events its client's requests go on.
struct RandomRun {
  explicit RandomRun(unsigned seed) : random(seed) {
    story.push_back(started);
    size_t turns = below(5);
    for (size_t turn = 0; turn < turns; ++turn) take_turn();
    text();
    story.push_back(below(4) == 0 ? Event{"run.cancelled", "{}"} : completed);
  }

  size_t below(size_t n) { return random() % n; }
  int64_t seq() const { return static_cast<int64_t>(story.size()); }
  void text() {
    static const std::vector<std::string> pieces{"a", " \"b\"\n", "\xC3\xA4", "data: x", "\\", "0"};
    for (size_t i = below(4); i > 0; --i) {
      const std::string& piece = pieces[below(pieces.size())];
      story.push_back(below(3) == 0 ? thought(piece) : delta(piece));
    }
  }
  void take_turn() {
    text();
    std::vector<std::string> here;
    std::vector<Asked> asked;
    for (size_t i = below(4) + 1; i > 0; --i) {
      std::string id = "c" + std::to_string(++calls);
      size_t kind = below(4);
      story.push_back(call(id, kind == 0 ? "weather" : kind == 1 ? "hook" : "web_search"));
      if (kind == 0) asked.push_back({id});
      if (kind == 1) asked.push_back({id, "webhook"});
      if (kind > 1) here.push_back(id);
    }
    for (const std::string& id : here) {
      if (below(3) == 0) {
        story.push_back(asking("tool_confirmation", id, "web_search"));
        story.push_back(provided);
        inputs.push_back(seq());
      }
      story.push_back(below(3) == 0 ? failure(id) : result(id));
    }
    if (asked.empty()) return;
    story.push_back(awaiting(asked));
    bool has_client = false;
    for (const Asked& each : asked) has_client = has_client || each.by == "client";
    // The client's first, then those of webhooks.
    for (const char* by : {"client", "webhook"}) {
      for (const Asked& each : asked) {
        if (each.by == by) story.push_back(result(each.id));
      }
      bool is_last = std::string_view(by) == "webhook";
      if (is_last) story.push_back(provided);
      bool answers = !is_last && has_client;
      bool all = asked.size() == static_cast<size_t>(std::count_if(
                                     asked.begin(), asked.end(),
                                     [](const Asked& each) { return each.by == "client"; }));
      if (answers && all) {
        story.push_back(provided);
        inputs.push_back(seq());
        return;
      }
      if (answers) inputs.push_back(seq());
    }
  }

  std::mt19937 random;
  Story story;
  std::vector<int64_t> inputs;
  int calls = 0;
};

TEST(Agui, IsWholeAcrossTheRequestsOfARandomRun) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    RandomRun run(seed);
    AguiClient client;
    client.read(stream_behind("agui", run.story, 0).frames());
    for (int64_t input : run.inputs) {
      EXPECT_TRUE(client.is_over());
      client.read(stream_behind("agui_continued", run.story, input).frames());
    }
    std::string text;
    for (const Event& each : run.story) {
      if (each.type != "message.delta" || each.data.find("thinking") != std::string::npos) continue;
      text += parse_json_or_nothing(each.data)->text_or("content");
    }
    ASSERT_EQ(client.text(), text);
    ASSERT_EQ(client.calls.size(), static_cast<size_t>(run.calls));
    ASSERT_TRUE(client.is_over());
    ASSERT_TRUE(client.outcome() == "success" || client.outcome() == "cancelled");
  }
}

TEST(Agui, IsTheSameWhereverTheEventsAreParted) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    RandomRun run(seed);
    run.inputs.insert(run.inputs.begin(), 0);
    for (bool is_checked : {false, true}) {
      for (int64_t input : run.inputs) {
        formats::FrameBatch whole = stream_behind("agui_continued", run.story, input, is_checked);
        int64_t frame = input == 0 ? 0 : formats::frame_number(input, 15);
        for (size_t parted = 1; parted < run.story.size(); ++parted) {
          formats::EncoderState state = formats::begin_behind(format_of("agui_continued"),
                                                              {run_id, facts, is_checked}, frame);
          formats::FrameBatch head(state, events_of(run.story, 0, parted), 0);
          std::string frames = head.frames();
          if (!head.is_final()) {
            formats::FrameBatch rest(head.state(), events_of(run.story, parted), head.last_seq());
            frames += rest.frames();
          }
          ASSERT_EQ(frames, whole.frames()) << seed << " parted behind " << parted;
        }
      }
    }
  }
}

}  // namespace
}  // namespace hostler
