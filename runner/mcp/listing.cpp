// See runner/mcp/listing.h.
#include "runner/mcp/listing.h"

#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runner/mcp/param_headers.h"
#include "runner/mcp/raw_json.h"

namespace hostler::runner {
namespace {

constexpr int pages_max = 50;
constexpr size_t tools_max = 2000;  // of which allowed_tools leaves 128
constexpr size_t bytes_max = size_t{8} << 20;
constexpr size_t cursor_bytes_max = 8192;

struct Listed {
  std::string name;
  std::string definition;
};

struct Listing {
  std::vector<Listed> tools;
  std::vector<std::pair<std::string, std::string>> left_out;
  std::set<std::string> names;
  std::optional<int64_t> ttl_ms;
  size_t bytes = 0;
};

std::string error_json(std::string_view code, std::string_view message) {
  JsonWriter json;
  json.begin_object().key("error").begin_object();
  json.member("code", code).member("message", message);
  return json.end_object().end_object().take();
}

std::string error_of(const SessionAnswer& sent) {
  if (sent.refused) return error_json(sent.refused->code, sent.refused->message);
  const RpcAnswer& answer = sent.answer;
  if (answer.kind == RpcAnswer::Kind::error) {
    return error_json("tool.failed", fmt::format("The server refused to list its tools ({}): {}",
                                                 answer.code, answer.message));
  }
  if (answer.is_denied) return error_json("tool.url_denied", answer.message);
  if (answer.is_timeout) return error_json("tool.timeout", answer.message);
  return error_json(answer.status == 0 ? "tool.unreachable" : "tool.failed", answer.message);
}

void take_tool(Listing& listing, std::string_view definition, bool has_param_headers) {
  std::optional<Json> tool = parse_json_or_nothing(definition);
  std::string name(tool && tool->is_object() ? tool->text_or("name") : "");
  if (name.empty()) {
    listing.left_out.emplace_back("", "It has no name.");
    return;
  }
  if (!listing.names.insert(name).second) {
    listing.left_out.emplace_back(name, "The name is there twice.");
    return;
  }
  const Json* schema = tool->find("inputSchema");
  std::optional<std::string> fault;
  if (has_param_headers && schema != nullptr) fault = param_header_fault(*schema);
  if (fault) {
    listing.left_out.emplace_back(name, *fault);
    return;
  }
  listing.tools.push_back({std::move(name), std::string(definition)});
}

// The next page's cursor; nothing: that was the last. fault: why it is none at all.
std::optional<std::string> take_page(Listing& listing, std::string_view result,
                                     bool has_param_headers, std::string& fault) {
  std::optional<Json> json = parse_json_or_nothing(result);
  const Json* tools = json && json->is_object() ? json->find("tools") : nullptr;
  if (tools == nullptr || !tools->is_array()) {
    fault = "What the server answered is no list of tools.";
    return std::nullopt;
  }
  listing.bytes += result.size();
  for (std::string_view one : raw_elements(*raw_member(result, "tools"))) {
    take_tool(listing, one, has_param_headers);
  }
  if (listing.tools.size() > tools_max || listing.bytes > bytes_max) {
    fault = "The server lists more tools than can be read.";
    return std::nullopt;
  }
  const Json* ttl = json->find("ttlMs");
  if (ttl != nullptr && ttl->is_integer()) listing.ttl_ms = *ttl->as_integer();
  std::string cursor(json->text_or("nextCursor"));
  if (cursor.empty() || cursor.size() > cursor_bytes_max) return std::nullopt;
  return cursor;
}

std::string outcome_json(const Listing& listing, const std::string& version) {
  JsonWriter json;
  json.begin_object().member("protocol_version", version).key("ttl_ms");
  if (listing.ttl_ms) {
    json.integer(*listing.ttl_ms);
  } else {
    json.null();
  }
  json.key("discovery").null().key("left_out").begin_array();
  for (const auto& [name, reason] : listing.left_out) {
    json.begin_object().member("name", utf8_prefix(name, 256)).member("reason", reason);
    json.end_object();
  }
  json.end_array().key("tools").begin_array();
  for (const Listed& tool : listing.tools) {
    json.begin_object().member("name", tool.name).member("definition", tool.definition);
    json.end_object();
  }
  return json.end_array().end_object().take();
}

}  // namespace

Task<std::string> list_tools(OAuthServices services, SessionAsk ask) {
  RemoteSession session(services, std::move(ask));
  Listing listing;
  std::optional<std::string> cursor;
  for (int page = 0; page < pages_max; ++page) {
    RpcMessage message;
    message.method = "tools/list";
    JsonWriter params;
    params.begin_object();
    if (cursor) params.member("cursor", *cursor);
    message.params = params.end_object().take();
    Task<SessionAnswer> requesting = session.request(std::move(message));
    SessionAnswer sent = co_await requesting;
    if (sent.refused || sent.answer.kind != RpcAnswer::Kind::result) co_return error_of(sent);
    std::string fault;
    bool has_param_headers = session.version() == modern_version;
    cursor = take_page(listing, sent.answer.json, has_param_headers, fault);
    if (!fault.empty()) co_return error_json("tool.bad_answer", fault);
    if (!cursor) co_return outcome_json(listing, session.version());
  }
  co_return error_json("tool.bad_answer", "The server's list of tools has no end.");
}

}  // namespace hostler::runner
