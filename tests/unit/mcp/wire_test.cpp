// Tests what is written to MCP servers, and how their messages are read.
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
            R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}})");
  EXPECT_EQ(header_of(message, older, "Mcp-Session-Id"), "s-1");
  EXPECT_EQ(header_of(message, older, "MCP-Protocol-Version"), "2025-06-18");
  EXPECT_EQ(header_of(message, older, "Mcp-Method"), "none");
  message.method = "initialize";
  EXPECT_EQ(header_of(message, older, "MCP-Protocol-Version"), "none");
}

// The offer of tasks is made only in revisions that have them in this form.
TEST(Wire, TasksAreOfferedToModernServersAlone) {
  std::string modern = rpc_body(call_of("{}"), Speech());
  EXPECT_NE(modern.find(R"("extensions":{"io.modelcontextprotocol/tasks":{}})"), std::string::npos);
  EXPECT_EQ(initialize_params("2025-06-18").find("extensions"), std::string::npos);
}

TEST(Wire, ACancellationNamesItsRequest) {
  EXPECT_EQ(rpc_body(cancellation_of("7"), Speech{"2025-06-18", "s-1"}),
            R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,)"
            R"("reason":"The run was cancelled."}})");
}

TEST(Wire, IdsAreNumbersThatAreNeverTheSame) {
  EXPECT_NE(new_rpc_id(), new_rpc_id());
  std::optional<Json> id = parse_json_or_nothing(new_rpc_id());
  ASSERT_TRUE(id && id->is_integer());
  EXPECT_GT(*id->as_integer(), 0);
  EXPECT_LE(*id->as_integer(), INT32_MAX);
}

TEST(Wire, KnowsTheRevisionsThatBeginWithInitialize) {
  for (const char* version : {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}) {
    EXPECT_TRUE(is_older_version(version)) << version;
    EXPECT_NE(known_versions().find(version), std::string::npos);
  }
  EXPECT_FALSE(is_older_version(modern_version));
  EXPECT_EQ(newest_older_version([](std::string_view version) { return version < "2025-06"; }),
            "2025-03-26");
  EXPECT_NE(initialize_params("2024-11-05").find(R"("protocolVersion":"2024-11-05")"),
            std::string::npos);
}

TEST(Response, IsReadByItsId) {
  for (const char* text : {R"({"jsonrpc":"2.0","id":7,"result":{ "a":1.0 }})",
                           R"({"jsonrpc":"2.0","id":"7","result":{ "a":1.0 }})",
                           R"({"id":7,"result":{ "a":1.0 },"error":null})",
                           R"({"jsonrpc":"2.0","result":{ "a":1.0 }})",
                           R"([{"method":"x"},{"jsonrpc":"2.0","id":7,"result":{ "a":1.0 }}])"}) {
    std::optional<RpcAnswer> read = read_response(text, "7");
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->kind, RpcAnswer::Kind::result);
    EXPECT_EQ(read->json, R"({ "a":1.0 })");
  }
  for (const char* other :
       {R"({"jsonrpc":"2.0","id":"8","result":{}})", R"({"jsonrpc":"2.0","id":8,"result":{}})",
        R"({"jsonrpc":"2.0","method":"notifications/progress"})", R"({"jsonrpc":"1.0","result":1})",
        "[]", "{}", "", "null", R"({"jsonrpc":"2.0","id":7})"}) {
    EXPECT_FALSE(read_response(other, "7")) << other;
  }
}

TEST(Response, LosesTheCharactersThatCannotBeStored) {
  std::optional<RpcAnswer> read =
      read_response(R"({"jsonrpc":"2.0","id":7,"result":{"a":"x\u0000y\ud83d"}})", "7");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->json, R"({"a":"xy"})");
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
  EXPECT_EQ(read_response(R"({"error":"no access"})", "7")->message, "no access");
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
