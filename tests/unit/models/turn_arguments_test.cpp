// The arguments of a turn's calls are bounded together, whatever the wire form.
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "tests/support/clients/turn_listener.h"

namespace hostler {
namespace {

using testing_support::ReadTurn;

std::string call_chunk(std::string_view call) {
  return R"({"choices":[{"index":0,"delta":{"tool_calls":[)" + std::string(call) + "]}}]}";
}

// The owner of a model must not keep the daemon busy with its answers.
TEST(TurnReader, LeavesArgumentsOutThatAreTooMany) {
  std::string zeros;
  for (size_t i = 0; i < turn_argument_values_max; ++i) zeros += "0,";
  std::string bytes(turn_argument_bytes_max, 'x');
  for (const std::string& hostile : {"[" + zeros + "0]", bytes}) {
    ReadTurn turn(ProviderKind::openai);
    turn.reader->read_event(call_chunk(
        R"({"index":0,"id":"a","function":{"name":"f","arguments":"{\"q\":\",,[[\"}"}})"));
    turn.reader->read_event(call_chunk(
        R"({"index":1,"id":"b","function":{"name":"f","arguments":")" + hostile + R"("}})"));
    turn.reader->read_event(
        call_chunk(R"({"index":2,"id":"c","function":{"name":"f","arguments":"{}"}})"));
    turn.reader->read_event(R"({"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]})");
    turn.reader->end();
    ASSERT_FALSE(turn.reader->fault());
    ASSERT_EQ(turn.turn.calls().size(), 3u);
    EXPECT_EQ(turn.turn.calls().at(0).arguments, R"({"q":",,[["})");
    EXPECT_EQ(turn.turn.calls().at(1).arguments,
              fmt::format("\"{} bytes of arguments were left out: those of a turn may have 1048576 "
                          "bytes and 20000 values\"",
                          hostile.size()));
    EXPECT_EQ(turn.turn.calls().at(2).arguments, "{}");
  }
}

}  // namespace
}  // namespace hostler
