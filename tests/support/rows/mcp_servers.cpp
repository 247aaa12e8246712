// See tests/support/rows/mcp_servers.h.
#include "tests/support/rows/mcp_servers.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/json.h"

namespace hostler::testing_support {
namespace {

void store(ApiStack& stack, const std::string& server_id, const std::string& outcome) {
  constexpr const char* listing_id = "0190a0a0-0000-7000-8000-00000000000a";
  stack.sql().run_text(fmt::format("UPDATE mcp_servers SET listing_id = '{}' WHERE id = '{}'",
                                   listing_id, server_id));
  EXPECT_EQ(sql_value(stack, fmt::format("SELECT mcp_listing_store('{}', '{}', $json${}$json$)",
                                         server_id, listing_id, outcome)),
            "stored");
}

}  // namespace

std::string definition_of(const ListedTool& tool) {
  return fmt::format(R"({{"name":"{}","description":"{}","inputSchema":{{"type":"object"}}{}}})",
                     tool.name, tool.description, tool.more);
}

void store_listing(ApiStack& stack, const std::string& server_id,
                   const std::vector<ListedTool>& tools) {
  JsonWriter json;
  json.begin_object().member("protocol_version", "2026-07-28").key("ttl_ms").null();
  json.member_raw("discovery", "{}").member_raw("left_out", "[]").key("tools").begin_array();
  for (const ListedTool& tool : tools) {
    json.begin_object().member("name", tool.name);
    json.member("definition", definition_of(tool)).end_object();
  }
  store(stack, server_id, json.end_array().end_object().take());
}

void fail_listing(ApiStack& stack, const std::string& server_id, const std::string& code,
                  const std::string& message) {
  JsonWriter json;
  json.begin_object().key("error").begin_object();
  json.member("code", code).member("message", message).end_object().end_object();
  store(stack, server_id, json.take());
}

}  // namespace hostler::testing_support
