// A run as OpenAI's response: the events and objects of its API reference, what is taken back, and
// numbers by which a stream can be gone on with behind any of its frames.
#include "lib/formats/openai_response.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/rigs/response_story.h"

namespace hostler {
namespace {

using namespace testing_support;

const std::vector<std::string> text_item = {"output_item.added", "content_part.added",
                                            "output_text.delta", "output_text.done",
                                            "content_part.done", "output_item.done"};
const std::vector<std::string> thought_item = {"output_item.added",    "content_part.added",
                                               "reasoning_text.delta", "reasoning_text.done",
                                               "content_part.done",    "output_item.done"};

std::vector<std::string> operator+(std::vector<std::string> all,
                                   const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
const std::vector<std::string> opening = {"created", "in_progress"};
const std::vector<std::string> end = {"completed"};

TEST(OpenaiResponse, IsItemsPartsAndDeltas) {
  std::string frames =
      told_as("openai_response", {started, delta("Hi \"you\"\n"), completed}).frames();
  std::vector<Json> objects = objects_of(frames);
  EXPECT_EQ(types_of(objects), opening + text_item + end);
  std::vector<int64_t> numbers;
  for (const Json& object : objects) numbers.push_back(object.integer_or("sequence_number", -1));
  EXPECT_EQ(numbers, (std::vector<int64_t>{16, 17, 32, 33, 34, 48, 49, 50, 51}));
  EXPECT_TRUE(frames.ends_with("\n\ndata: [DONE]\n\n"));
  std::string id = fmt::format("msg_{}_0", run_id);
  EXPECT_EQ(objects[4].dump(),
            fmt::format(R"({{"type":"response.output_text.delta","sequence_number":34,)"
                        R"("item_id":"{}","output_index":0,"content_index":0,)"
                        R"("delta":"Hi \"you\"\n","logprobs":[]}})",
                        id));
  std::string item = fmt::format(
      R"({{"id":"{}","type":"message","status":"completed","role":"assistant","content":[)"
      R"({{"type":"output_text","annotations":[],"logprobs":[],"text":"Hi \"you\"\n"}}]}})",
      id);
  EXPECT_EQ(objects[7].find("item")->dump(), item);
  EXPECT_EQ(
      final_response(objects).dump(),
      fmt::format(R"({{"id":"resp_{}","object":"response","created_at":{},"status":"completed",)"
                  R"("completed_at":1763652600,"error":null,"incomplete_details":null,)"
                  R"("output":[{}],"usage":{{"input_tokens":12,"input_tokens_details":)"
                  R"({{"cached_tokens":4,"cache_write_tokens":2}},)"
                  R"("output_tokens":5,"output_tokens_details":)"
                  R"({{"reasoning_tokens":0}},"total_tokens":17}},"model":"normal@1",)"
                  R"("instructions":null}})",
                  run_id, made_at, item));
}

TEST(OpenaiResponse, KeepsThoughtsAndTurnsApart) {
  Story story = {started,         thought("hm"), delta("Let me see. "), call, result,
                 delta("Found."), completed};
  std::vector<Json> objects = objects_of(told_as("openai_response", story).frames());
  EXPECT_EQ(types_of(objects), opening + thought_item + text_item + text_item + end);
  EXPECT_EQ(output_text(final_response(objects)), "Let me see. Found.");
  EXPECT_EQ(final_response(objects).find("output")->as_array()->size(), 3u);
  EXPECT_EQ(final_response(objects).dump().find("web_search"), std::string::npos);
}

TEST(OpenaiResponse, EndsWithTheCallsThatAreLeftToTheCaller) {
  Story story = {started, delta("So:"), call, calls_left(1), completed};
  std::vector<Json> objects = objects_of(told_as("openai_response", story).frames());
  const std::vector<std::string> call_item = {"output_item.added", "function_call_arguments.delta",
                                              "function_call_arguments.done", "output_item.done"};
  EXPECT_EQ(types_of(objects), opening + text_item + call_item + end);
  const Json& item = final_response(objects).find("output")->as_array()->at(1);
  EXPECT_EQ(item.dump(),
            fmt::format(R"({{"id":"fc_{}_1","type":"function_call","status":"completed",)"
                        R"("call_id":"call_0","name":"weather","arguments":"{{\"nth\":0}}"}})",
                        run_id));
}

TEST(OpenaiResponse, NumbersMoreFramesThanAnEventHasNumbersFor) {
  Story story = {started, delta("So:"), calls_left(40), completed};
  std::vector<Json> objects = objects_of(told_as("openai_response", story).frames());
  ASSERT_EQ(objects.size(), 2u + 6 + 4 * 40 + 1);
  int64_t last = 0;
  for (const Json& object : objects) {
    int64_t number = object.integer_or("sequence_number", -1);
    EXPECT_GT(number, last);
    last = number;
  }
  EXPECT_EQ(last, 16 * 3 + 3 + 160);
}

TEST(OpenaiResponse, ClosesWhatIsMadeAgainAsIncomplete) {
  for (const char* type : {"run.resumed", "run.fell_back", "output.repair"}) {
    Story story = {started, delta("one"), discarding(type, 1), delta("two"), completed};
    std::vector<Json> objects = objects_of(told_as("openai_response", story).frames());
    EXPECT_EQ(types_of(objects), opening + text_item + text_item + end) << type;
    EXPECT_EQ(objects[7].find("item")->text_or("status"), "incomplete");
    EXPECT_EQ(objects[7].integer_or("output_index", -1), 0);
    EXPECT_EQ(objects[8].integer_or("output_index", -1), 1);
    EXPECT_EQ(output_text(final_response(objects)), "two") << type;
    Story unharmed = {started, delta("one"), discarding(type, 2), delta("two"), completed};
    objects = objects_of(told_as("openai_response", unharmed).frames());
    EXPECT_EQ(output_text(final_response(objects)), "onetwo") << type;
  }
}

TEST(OpenaiResponse, SendsCheckedTextWhenItIsGood) {
  Story story = {started,
                 delta("Let me look."),
                 call,
                 result,
                 thought("hm"),
                 delta("oops"),
                 discarding("output.repair", 4),
                 delta("{\"a\":"),
                 delta("1}"),
                 {"run.output", R"({"output":{"a":1}})"},
                 completed};
  std::vector<Json> objects = objects_of(told_as("openai_response", story, true).frames());
  EXPECT_EQ(types_of(objects), opening + thought_item + text_item + end);
  EXPECT_EQ(objects[7].find("item")->text_or("status"), "incomplete");
  EXPECT_EQ(objects[10].text_or("delta"), "{\"a\":1}");
  EXPECT_EQ(output_text(final_response(objects)), "{\"a\":1}");
  Story misfit = {started, delta("oops"), failed("output.schema_mismatch")};
  Story beside_calls = {started, delta("oops"), call, calls_left(1), completed};
  EXPECT_EQ(told_as("openai_response", misfit, true).frames().find("oops"), std::string::npos);
  for (const char* name : {"openai_response_whole", "openai_response_stored"}) {
    EXPECT_EQ(told_as(name, story, true).frames(), final_response(objects).dump()) << name;
    for (const Story& each : {misfit, beside_calls}) {
      EXPECT_EQ(told_as(name, each, true).frames().find("oops"), std::string::npos) << name;
    }
  }
}

TEST(OpenaiResponse, EndsAsItsRunDoes) {
  Story story = {started, delta("Hi"), failed("model.rejected")};
  std::vector<Json> objects = objects_of(told_as("openai_response", story).frames());
  EXPECT_EQ(objects.back().text_or("type"), "response.failed");
  EXPECT_EQ(final_response(objects).text_or("status"), "failed");
  EXPECT_EQ(final_response(objects).find("error")->dump(),
            R"({"code":"model.rejected","message":"No."})");
  EXPECT_EQ(final_response(objects).find("output")->as_array()->at(0).text_or("status"),
            "incomplete");
  objects = objects_of(told_as("openai_response", {started, delta("Hi"), cancelled}).frames());
  EXPECT_EQ(objects.back().text_or("type"), "response.incomplete");
  EXPECT_EQ(final_response(objects).text_or("status"), "cancelled");
  EXPECT_TRUE(final_response(objects).find("completed_at")->is_null());
  // A run that never began.
  objects = objects_of(told_as("openai_response", {cancelled}).frames());
  EXPECT_EQ(types_of(objects), (opening + std::vector<std::string>{"incomplete"}));
}

TEST(OpenaiResponse, IsOneObjectWhenItIsHeldBack) {
  Story story = {started,     thought("hm"), delta("one"), discarding("run.resumed", 1),
                 delta("Hi"), completed};
  std::string streamed =
      final_response(objects_of(told_as("openai_response", story).frames())).dump();
  Story plain = {started, delta("Hi"), completed};
  for (const char* name : {"openai_response_whole", "openai_response_stored"}) {
    formats::FrameBatch frames = told_as(name, story);
    EXPECT_EQ(frames.frames(), streamed) << name;
    EXPECT_EQ(frames.status().code, 200);
    std::optional<Json> ended = parse_json_or_nothing(told_as(name, {started, cancelled}).frames());
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->text_or("status"), "cancelled");
  }
}

TEST(OpenaiResponse, SaysWhyItFailedToWhoMadeItByTheStatus) {
  struct Case {
    const char* code;
    int status;
    const char* shown;
  };
  for (const Case& each : {Case{"run.timeout", 504, "run.timeout"},
                           Case{"model.unavailable", 502, "model.unavailable"},
                           Case{"model.rejected", 502, "model.rejected"},
                           Case{"run.turn_limit", 500, "run.turn_limit"},
                           Case{"credits.exhausted", 429, "insufficient_quota"}}) {
    Story story = {started, delta("x"), failed(each.code)};
    formats::FrameBatch whole = told_as("openai_response_whole", story);
    EXPECT_EQ(whole.status().code, each.status) << each.code;
    bool is_of_the_moment = each.code == std::string_view("model.unavailable");
    EXPECT_EQ(whole.status().may_be_repeated, is_of_the_moment) << each.code;
    std::optional<Json> body = parse_json_or_nothing(whole.frames());
    ASSERT_TRUE(body && body->find("error") != nullptr) << whole.frames();
    EXPECT_EQ(body->find("error")->text_or("code"), each.shown);
    EXPECT_EQ(body->find("id"), nullptr);
    formats::FrameBatch stored = told_as("openai_response_stored", story);
    EXPECT_EQ(stored.status().code, 200);
    std::optional<Json> object = parse_json_or_nothing(stored.frames());
    ASSERT_TRUE(object) << stored.frames();
    EXPECT_EQ(object->text_or("status"), "failed");
    EXPECT_EQ(object->find("error")->text_or("code"), each.shown);
  }
}

TEST(OpenaiResponse, BreaksOffWithWhatItsClientsThrow) {
  Error error(ErrorCode::http_unavailable, "The answer ends here.");
  std::string frames = format_of("openai_response").error_frames(error);
  std::vector<Json> objects = objects_of(frames);
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(objects[0].text_or("type"), "error");
  EXPECT_EQ(objects[0].integer_or("sequence_number", -1), 0);
  EXPECT_EQ(objects[0].text_or("code"), "http.unavailable");
  EXPECT_EQ(objects[0].find("error")->text_or("message"), "The answer ends here.");
}

}  // namespace
}  // namespace hostler
