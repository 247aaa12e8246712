// What is written to MCP servers, and how their messages are read.
#include "runner/mcp/wire.h"

#include <gtest/gtest.h>

#include "lib/json.h"
#include "runner/mcp/rpc_answer.h"

namespace hostler::runner {
namespace {

RpcMessage call_of(const std::string& params) {
  RpcMessage message;
  message.method = "tools/call";
  message.name = "caf\u00e9";
  message.params = params;
  message.id = "7";
  return message;
}

std::string header_of(const RpcMessage& message, const Speech& speech, std::string_view name) {
  for (const auto& [found, value] : rpc_headers(message, speech)) {
    if (found == name) return value;
  }
  return "none";
}

TEST(Wire, EachModernRequestStandsAlone) {
  Speech modern;
  RpcMessage message = call_of(R"({"name":"x","arguments":{"n": 1.50}})");
  std::string body = rpc_body(message, modern);
  EXPECT_NE(body.find(R"("arguments":{"n": 1.50})"), std::string::npos);
  Json request = parse_json_or_nothing(body).value();
  const Json* meta = request.find("params")->find("_meta");
  EXPECT_EQ(meta->text_or("io.modelcontextprotocol/protocolVersion"), modern_version);
  EXPECT_EQ(meta->find("io.modelcontextprotocol/clientInfo")->text_or("name"), "hostler");
  EXPECT_TRUE(meta->find("io.modelcontextprotocol/clientCapabilities")->is_object());
  EXPECT_EQ(header_of(message, modern, "MCP-Protocol-Version"), modern_version);
  EXPECT_EQ(header_of(message, modern, "Mcp-Method"), "tools/call");
  EXPECT_EQ(header_of(message, modern, "Mcp-Name"), "=?base64?Y2Fmw6k=?=");
  EXPECT_TRUE(parse_json_or_nothing(rpc_body(call_of("{}"), modern)));
  EXPECT_TRUE(parse_json_or_nothing(rpc_body(call_of(""), modern)));
}

TEST(Wire, AnOlderServerGetsItsSessionAndNoMore) {
  Speech older{"2025-06-18", "s-1"};
  RpcMessage message = call_of(R"({"name":"x"})");
  EXPECT_EQ(rpc_body(message, older),
            R"({"jsonrpc":"2.0","id":"7","method":"tools/call","params":{"name":"x"}})");
  EXPECT_EQ(header_of(message, older, "Mcp-Session-Id"), "s-1");
  EXPECT_EQ(header_of(message, older, "MCP-Protocol-Version"), "2025-06-18");
  EXPECT_EQ(header_of(message, older, "Mcp-Method"), "none");
  message.method = "initialize";
  EXPECT_EQ(header_of(message, older, "MCP-Protocol-Version"), "none");
}

// What a call may become is said of revisions that have it in this form.
TEST(Wire, TasksAreOfferedToModernServersAlone) {
  std::string modern = rpc_body(call_of("{}"), Speech());
  EXPECT_NE(modern.find(R"("extensions":{"io.modelcontextprotocol/tasks":{}})"), std::string::npos);
  EXPECT_EQ(initialize_params().find("extensions"), std::string::npos);
}

TEST(Wire, ACancellationNamesItsRequest) {
  EXPECT_EQ(rpc_body(cancellation_of("7"), Speech{"2025-06-18", "s-1"}),
            R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"7",)"
            R"("reason":"The run was cancelled."}})");
}

TEST(Wire, IdsAreNeverTheSame) { EXPECT_NE(new_rpc_id(), new_rpc_id()); }

TEST(Response, IsReadByItsId) {
  std::optional<RpcAnswer> read =
      read_response(R"({"jsonrpc":"2.0","id":"7","result":{ "a":1.0 }})", "7");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kind, RpcAnswer::Kind::result);
  EXPECT_EQ(read->json, R"({ "a":1.0 })");
  for (const char* other :
       {R"({"jsonrpc":"2.0","id":"8","result":{}})", R"({"jsonrpc":"2.0","id":7,"result":{}})",
        R"({"jsonrpc":"2.0","method":"notifications/progress"})", R"({"id":"7","result":{}})", "[]",
        "", R"({"jsonrpc":"2.0","id":"7"})"}) {
    EXPECT_FALSE(read_response(other, "7")) << other;
  }
}

TEST(Response, IsAnErrorThatKnowsNoId) {
  for (const char* text : {R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"m"}})",
                           R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"m"}})"}) {
    std::optional<RpcAnswer> read = read_response(text, "7");
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->kind, RpcAnswer::Kind::error);
    EXPECT_EQ(read->code, -32600);
  }
  EXPECT_FALSE(read_response(R"({"jsonrpc":"2.0","id":"8","error":{"code":1}})", "7"));
  EXPECT_FALSE(read_response(R"({"jsonrpc":"2.0","id":null,"result":{}})", "7"));
}

TEST(Response, TellsAnErrorWithItsData) {
  std::optional<RpcAnswer> read =
      read_response(R"({"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"m",)"
                    R"("data":{"supported":[]}}})",
                    "");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kind, RpcAnswer::Kind::error);
  EXPECT_EQ(read->code, -32022);
  EXPECT_EQ(read->json, R"({"supported":[]})");
}

}  // namespace
}  // namespace hostler::runner
