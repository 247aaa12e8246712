// Tests what MCP servers say of their tasks.
#include "runner/mcp/task_answer.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace hostler::runner {
namespace {

using Status = RemoteTask::Status;

TEST(RemoteTask, IsReadInEachOfItsStates) {
  std::optional<RemoteTask> working =
      read_task(R"({"resultType":"task","taskId":"t-1","status":"working","pollIntervalMs":5000})");
  ASSERT_TRUE(working);
  EXPECT_EQ(working->id, "t-1");
  EXPECT_EQ(working->status, Status::working);
  EXPECT_EQ(working->poll_ms, 5000);
  EXPECT_EQ(working->questions, "{}");
  std::optional<RemoteTask> asking =
      read_task(R"({"taskId":"t","status":"input_required","inputRequests":{"a": {"b":1}}})");
  ASSERT_TRUE(asking);
  EXPECT_EQ(asking->status, Status::input_required);
  EXPECT_EQ(asking->questions, R"({"a": {"b":1}})");
  std::optional<RemoteTask> completed =
      read_task(R"({"taskId":"t","status":"completed","result":{"content":[]}})");
  ASSERT_TRUE(completed);
  EXPECT_EQ(completed->result, R"({"content":[]})");
  std::optional<RemoteTask> failed = read_task(
      R"({"taskId":"t","status":"failed","statusMessage":"s","error":{"code":-5,"message":"m"}})");
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code, -5);
  EXPECT_EQ(failed->message, "m");
  EXPECT_EQ(read_task(R"({"taskId":"t","status":"cancelled"})")->status, Status::cancelled);
}

TEST(RemoteTask, IsPolledNeitherAllTheTimeNorNever) {
  auto poll_ms = [](std::string_view interval) {
    return read_task(
               fmt::format(R"({{"taskId":"t","status":"working","pollIntervalMs":{}}})", interval))
        ->poll_ms;
  };
  EXPECT_EQ(poll_ms("0"), 500);
  EXPECT_EQ(poll_ms("-1e300"), 500);
  EXPECT_EQ(poll_ms("1e300"), 300'000);
  EXPECT_EQ(poll_ms("99999999999999999999"), 300'000);
  EXPECT_EQ(poll_ms("\"soon\""), 3000);
}

TEST(RemoteTask, OfAnotherFormIsNone) {
  std::string long_id(task_id_bytes_max + 1, 'x');
  for (const std::string& wrong :
       {std::string(), std::string("[]"), std::string("{}"), std::string(R"({"taskId":"t"})"),
        std::string(R"({"taskId":"","status":"working"})"),
        std::string(R"({"taskId":5,"status":"working"})"),
        std::string(R"({"taskId":"t","status":"else"})"),
        fmt::format(R"({{"taskId":"{}","status":"working"}})", long_id)}) {
    EXPECT_FALSE(read_task(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace hostler::runner
