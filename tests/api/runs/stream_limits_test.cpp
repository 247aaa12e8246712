// Calls that a stream answers, of somebody who may open none: refused before anything of them
// exists, in each protocol.
#include <gtest/gtest.h>

#include <thread>

#include <fmt/format.h>

#include "tests/api/agui/agui_harness.h"
#include "tests/api/ui/chat_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

const std::string chats = "/v1/openai/chat/completions";
const std::string responses = "/v1/openai/responses";

std::string chat(std::string_view further = "") {
  return fmt::format(
      R"({{"model":"normal@1","messages":[{{"role":"user","content":"[say hi]"}}]{}}})", further);
}
std::string response(std::string_view further = "") {
  return fmt::format(R"({{"model":"normal@1","input":"[say hi]"{}}})", further);
}

// A run whose model says nothing more, and a stream of it that is open until the run is cancelled.
class HeldStream {
 public:
  HeldStream(ApiStack& stack, const Client& client)
      : client_(client),
        run_id_(start_output(client, "[words 4] [stall]")),
        reader_([url = stack.line().base_url(), token = client.token, run_id = run_id_] {
          Line line(url, ApiStack::certificate());
          Client(line).with_token(token).get("/v1/runs/" + run_id + "/events");
        }) {}
  ~HeldStream() {
    client_.post("/v1/runs/" + run_id_ + ":cancel");
    reader_.join();
  }
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;

 private:
  Client client_;
  std::string run_id_;
  std::thread reader_;
};

class WhoMayOpenNoStream : public testing::Test {
 protected:
  void start(const std::string& setting) {
    stack_ = std::make_unique<ApiStack>(ApiStackOptions{{setting}, true});
    add_fake_model(*stack_, R"("output_usd_per_mtok":20)");
    user_ = std::make_unique<TestUser>(register_user(*stack_));
  }
  std::string value(const std::string& text) { return sql_value(*stack_, text); }
  bool is_noted(int holders) {
    return eventually(15'000, [&] {
      return value("SELECT count(*) FROM full_streams") == std::to_string(holders);
    });
  }
  // Returns what there is of calls, and what they hold.
  std::string rows() {
    return value(
        "SELECT concat_ws(' ', (SELECT count(*) FROM runs), (SELECT count(*) FROM threads), "
        "(SELECT count(*) FROM messages), (SELECT count(*) FROM run_histories), "
        "(SELECT sum(held) FROM credit_accounts))");
  }
  void expect_refused(const Answer& answer, std::string_view whose = "A user") {
    EXPECT_TRUE(is_problem(answer, 429, "streams.limit_exceeded")) << answer.body;
    EXPECT_EQ(answer.header("retry-after"), "5");
    EXPECT_EQ(answer.header("x-hostler-run"), "");
    EXPECT_NE(answer.body.find(fmt::format("{} may have 1 open streams. Close one first.", whose)),
              std::string::npos)
        << answer.body;
  }
  Answer post_with_key(const std::string& key) {
    return user_->client.send(
        {"POST", chats, chat(), "application/json", {{"Idempotency-Key", key}}});
  }

  std::unique_ptr<ApiStack> stack_;
  std::unique_ptr<TestUser> user_;
};

TEST_F(WhoMayOpenNoStream, GetsNoRunEither) {
  start("HOSTLER_LIMIT_STREAMS_PER_USER=1");
  const Client& client = user_->client;
  {
    HeldStream held(*stack_, client);
    ASSERT_TRUE(is_noted(1));
    std::string before = rows();
    for (const char* form : {"", R"(,"stream":true)"}) {
      Answer refused = client.post(chats, chat(form));
      expect_refused(refused);
      EXPECT_NE(refused.body.find(R"({"error":{)"), std::string::npos) << refused.body;
      expect_refused(client.post("/v1/openai/v1/responses", response(form)));
    }
    expect_refused(client.post(responses, response(R"(,"background":true,"stream":true)")));
    expect_refused(client.post(ui_route, saying("c", "[say hi]")));
    expect_refused(client.post(agui_route, agui_says("a", "[say hi]")));
    expect_refused(post_with_key("k"));
    EXPECT_EQ(rows(), before);
    EXPECT_EQ(client.get("/v1/runs").json().as_array()->size(), 1u);
    EXPECT_EQ(client.get("/v1/threads").json().as_array()->size(), 1u);
    EXPECT_EQ(client.post(responses, response(R"(,"background":true)")).status, 200)
        << "no stream answers it";
  }
  ASSERT_TRUE(is_noted(0));
  EXPECT_EQ(post_with_key("k").status, 200) << "the key's first call was none";
  EXPECT_EQ(client.post(chats, chat(R"(,"stream":true)")).status, 200);
}

// An answer that the relay could not tell how it goes on would be lost: it can be given again.
TEST_F(WhoMayOpenNoStream, GivesNoAnswerToARun) {
  start("HOSTLER_LIMIT_STREAMS_PER_USER=1");
  const Client& client = user_->client;
  Answer asked = client.post(agui_route, agui_says("a", "[ask Where?]"));
  ASSERT_EQ(asked.status, 200) << asked.body;
  std::string request_id = value("SELECT input_request ->> 'request_id' FROM runs");
  std::string answer = agui_resumes("a", request_id, "resolved", R"("here")");
  {
    HeldStream held(*stack_, client);
    ASSERT_TRUE(is_noted(1));
    expect_refused(client.post(agui_route, answer));
    EXPECT_EQ(value("SELECT count(*) FROM run_inputs"), "0");
    expect_refused(
        client.post(ui_route, answering("a", R"({"type":"tool-ask_user","toolCallId":"c",)"
                                             R"("state":"output-available","output":"here"})")));
  }
  ASSERT_TRUE(is_noted(0));
  EXPECT_EQ(client.post(agui_route, answer).status, 200);
}

TEST_F(WhoMayOpenNoStream, IsAnOrganizationUntilItIsGrantedMore) {
  start("HOSTLER_LIMIT_STREAMS=1");
  HeldStream held(*stack_, user_->client);
  ASSERT_TRUE(is_noted(1));
  expect_refused(user_->client.post(chats, chat()), "An organization");
  TestUser other = register_user(*stack_);
  EXPECT_EQ(other.client.post(chats, chat()).status, 200);
  stack_->sql().run_text(
      fmt::format("INSERT INTO entitlement_overrides (org_id, key, value, value_type, "
                  "created_by_user_id) VALUES ('{}', 'limit.streams', '2', 'integer', '{}')",
                  user_->org_id, user_->id));
  EXPECT_EQ(user_->client.post(chats, chat()).status, 200);
}

TEST_F(WhoMayOpenNoStream, IsANetworkWhoeverCallsFromIt) {
  start("HOSTLER_LIMIT_STREAMS_PER_NETWORK=1");
  TestUser other = register_user(*stack_);
  HeldStream held(*stack_, user_->client);
  ASSERT_TRUE(is_noted(1));
  std::string before = rows();
  expect_refused(other.client.post(chats, chat(R"(,"stream":true)")), "A network");
  EXPECT_EQ(rows(), before);
}

}  // namespace
}  // namespace hostler::testing_support
