// See runner/mcp/wire.h.
#include "runner/mcp/wire.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/json.h"
#include "runner/mcp/param_headers.h"

namespace hostler::runner {
namespace {

// Newest first. 2025-03-26 is the first over Streamable HTTP; servers that were written for the one
// before speak that over it, too, and say its name.
constexpr std::array<std::string_view, 4> older_versions = {first_older_version, "2025-06-18",
                                                            "2025-03-26", "2024-11-05"};
// All ids are whole numbers that an int holds: what every server takes.
constexpr uint32_t id_mask = 0x7FFFFFFF;
constexpr std::string_view prefix = "io.modelcontextprotocol/";

void add_client(JsonWriter& json) {
  json.begin_object().member("name", "hostler").member("version", HOSTLER_VERSION).end_object();
}

// Abilities that we announce to servers: they may ask a person, by a form, and a call may become a
// task. Before the modern revision tasks were another thing, which is not offered.
void add_capabilities(JsonWriter& json, bool is_modern) {
  json.begin_object().key("elicitation").begin_object().end_object();
  if (is_modern) {
    json.key("extensions").begin_object().key(std::string(prefix) + "tasks");
    json.begin_object().end_object().end_object();
  }
  json.end_object();
}

void add_meta(JsonWriter& json, const Speech& speech) {
  json.key("_meta").begin_object();
  json.member(std::string(prefix) + "protocolVersion", speech.version);
  json.key(std::string(prefix) + "clientInfo");
  add_client(json);
  json.key(std::string(prefix) + "clientCapabilities");
  add_capabilities(json, true);
  json.end_object();
}

}  // namespace

bool is_older_version(std::string_view version) {
  return std::find(older_versions.begin(), older_versions.end(), version) != older_versions.end();
}

std::string_view newest_older_version(const std::function<bool(std::string_view)>& is_wanted) {
  auto found = std::find_if(older_versions.begin(), older_versions.end(), is_wanted);
  return found == older_versions.end() ? std::string_view() : *found;
}

std::string known_versions() {
  std::string known(modern_version);
  for (std::string_view version : older_versions) known += fmt::format(", {}", version);
  return known;
}

std::string new_rpc_id() {
  std::string bytes = random_bytes(sizeof(uint32_t));
  uint32_t id = 0;
  for (char byte : bytes) id = id << 8 | static_cast<unsigned char>(byte);
  return std::to_string((id & id_mask) | 1U << 30);
}

std::string rpc_body(const RpcMessage& message, const Speech& speech) {
  JsonWriter json;
  json.begin_object().member("jsonrpc", "2.0");
  if (!message.id.empty()) json.member_raw("id", message.id);
  json.member("method", message.method);
  if (!speech.is_modern()) {
    if (!message.params.empty()) json.member_raw("params", message.params);
    return json.end_object().take();
  }
  JsonWriter meta;
  meta.begin_object();
  add_meta(meta, speech);
  std::string params = meta.end_object().take();
  if (message.params.size() > 2) {  // more than {}
    params.pop_back();
    params += ',' + message.params.substr(1);
  }
  return json.member_raw("params", params).end_object().take();
}

std::vector<http::HttpField> rpc_headers(const RpcMessage& message, const Speech& speech) {
  std::vector<http::HttpField> headers = {{"Content-Type", "application/json"},
                                          {"Accept", "application/json, text/event-stream"}};
  // An older server gets the version after it was agreed.
  if (message.method != "initialize") {
    headers.emplace_back("MCP-Protocol-Version", speech.version);
  }
  if (!speech.session_id.empty()) headers.emplace_back("Mcp-Session-Id", speech.session_id);
  if (!speech.is_modern()) return headers;
  headers.emplace_back("Mcp-Method", message.method);
  if (!message.name.empty()) headers.emplace_back("Mcp-Name", header_value(message.name));
  headers.insert(headers.end(), message.param_headers.begin(), message.param_headers.end());
  return headers;
}

std::string rpc_answer(std::string_view id_json, std::string_view result) {
  JsonWriter json;
  json.begin_object().member("jsonrpc", "2.0").member_raw("id", id_json);
  return json.member_raw("result", result).end_object().take();
}

std::string rpc_refusal(std::string_view id_json) {
  JsonWriter json;
  json.begin_object().member("jsonrpc", "2.0").member_raw("id", id_json).key("error");
  json.begin_object().member("code", -32601).member("message", "Method not found").end_object();
  return json.end_object().take();
}

RpcMessage cancellation_of(std::string_view id) {
  RpcMessage message;
  message.method = "notifications/cancelled";
  JsonWriter json;
  json.begin_object().member_raw("requestId", id).member("reason", "The run was cancelled.");
  message.params = json.end_object().take();
  return message;
}

std::string initialize_params(std::string_view version) {
  JsonWriter json;
  json.begin_object().member("protocolVersion", version).key("capabilities");
  add_capabilities(json, false);
  json.key("clientInfo");
  add_client(json);
  return json.end_object().take();
}

}  // namespace hostler::runner
