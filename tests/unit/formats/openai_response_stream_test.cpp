// A run as OpenAI's response, as clients take it up: its items are those of its end, and its stream
// is gone on with behind any of its frames.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/rigs/response_story.h"

namespace hostler {
namespace {

using namespace testing_support;

// Returns what a run may tell, at random: several turns, thoughts, tools, repairs, many calls.
Story random_story(std::minstd_rand& random) {
  Story story = {started};
  int64_t turn_behind = 1;
  for (unsigned step = 0; step < 30; ++step) {
    switch (random() % 8) {
      case 0:
        story.insert(story.end(), {call, result});
        turn_behind = static_cast<int64_t>(story.size());
        break;
      case 1:
        if (random() % 3 == 0) story.push_back(discarding("output.repair", turn_behind));
        break;
      case 2:
        story.push_back(thought(std::string(random() % 9, 't')));
        break;
      default:
        story.push_back(delta(std::string(random() % 20, static_cast<char>('a' + random() % 26))));
    }
  }
  if (random() % 2 == 0) story.push_back({"run.output", "{}"});
  if (random() % 2 == 0) story.push_back(calls_left(static_cast<int>(random() % 40)));
  story.push_back(random() % 5 == 0 ? failed("run.timeout") : completed);
  return story;
}

// State of a client that builds the output of the items' last events, as the SDKs do.
TEST(OpenaiResponse, HasInItsEndWhatItsEventsSaid) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::minstd_rand random(seed);
  for (int round = 0; round < 60; ++round) {
    Story story = random_story(random);
    std::erase_if(story, [](const Told& one) { return one.type == "run.output"; });
    std::vector<Json> objects = objects_of(told_as("openai_response", story).frames());
    std::map<int64_t, std::string> texts;
    std::map<int64_t, std::string> items;
    int64_t added = 0;
    for (const Json& object : objects) {
      int64_t index = object.integer_or("output_index", -1);
      std::string_view type = object.text_or("type");
      if (type == "response.output_item.added") {
        EXPECT_EQ(index, added++);
      }
      if (type.ends_with("_text.delta")) texts[index] += object.text_or("delta");
      if (type.ends_with("_text.done")) {
        EXPECT_EQ(object.text_or("text"), texts[index]);
      }
      if (type == "response.output_item.done") items[index] = object.find("item")->dump();
    }
    EXPECT_EQ(static_cast<int64_t>(items.size()), added);
    for (const Json& item : *final_response(objects).find("output")->as_array()) {
      bool was_sent = std::any_of(items.begin(), items.end(),
                                  [&](const auto& sent) { return sent.second == item.dump(); });
      EXPECT_TRUE(was_sent) << item.dump();
    }
  }
}

// A client that comes back after any frame gets the rest of the stream, byte for byte, wherever the
// events are parted.
TEST(OpenaiResponse, GoesOnBehindEveryNumber) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::minstd_rand random(seed);
  for (int round = 0; round < 60; ++round) {
    Story story = random_story(random);
    for (bool is_checked : {false, true}) {
      const formats::Format& format = format_of("openai_response");
      std::string whole = told_as("openai_response", story, is_checked).frames();
      for (const Json& object : objects_of(whole)) {
        int64_t number = object.integer_or("sequence_number", -1);
        size_t behind = whole.find(fmt::format("\"sequence_number\":{},", number));
        behind = whole.find("\n\n", behind) + 2;
        formats::EncoderState state =
            formats::begin_behind(format, {run_id, facts, is_checked}, number);
        std::string joined;
        for (size_t from = 0; from < story.size();) {
          size_t count = 1 + random() % 9;
          formats::FrameBatch part(state, events_of(story, from, count),
                                   static_cast<int64_t>(from));
          joined += part.frames();
          state = part.state();
          from += count;
        }
        EXPECT_EQ(joined, whole.substr(behind)) << is_checked << " behind " << number;
      }
    }
  }
}

TEST(OpenaiResponse, TellsHowMuchItKeepsOfWhatWasSaid) {
  for (int64_t frame : {0, 40}) {
    formats::EncoderState begin =
        formats::begin_behind(format_of("openai_response"), {run_id, facts}, frame);
    Story story = {started, delta(std::string(1000, 'x')), call, delta(std::string(500, 'y'))};
    formats::FrameBatch frames(begin, events_of(story), 0);
    EXPECT_GE(frames.state()->kept_bytes(), 1500U) << "an item that is closed, and one that is not";
    EXPECT_LT(frames.state()->kept_bytes(), 2500U);
  }
}

}  // namespace
}  // namespace hostler
