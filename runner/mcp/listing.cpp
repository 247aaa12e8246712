// See runner/mcp/listing.h.
#include "runner/mcp/listing.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/json_whole.h"
#include "lib/loop/wait.h"
#include "lib/utf8.h"
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

struct ListedSoFar {
  std::vector<Listed> tools;
  std::vector<std::pair<std::string, std::string>> left_out;
  std::map<std::string, std::string> definitions;  // by name, of all that were there
  std::set<std::string> cursors;                   // that were followed
  std::optional<int64_t> ttl_ms;
  size_t bytes = 0;
};
// Read by the thread pool, page after page.
using Listing = std::shared_ptr<ListedSoFar>;

struct Page {
  std::optional<std::string> cursor;  // of the next one; nothing: that was the last
  std::string fault;                  // why it is none at all; empty: it is one
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
  if (answer.is_bad) return error_json("tool.bad_answer", answer.message);
  if (answer.is_timeout) return error_json("tool.timeout", answer.message);
  return error_json(answer.status == 0 ? "tool.unreachable" : "tool.failed", answer.message);
}

// Whether its arguments may be an object, as those of every call are: MCP wants "type": "object";
// servers leave it out, or write null where there are no arguments.
bool takes_object(const Json* schema) {
  if (schema == nullptr || schema->is_null()) return true;
  if (!schema->is_object()) return false;
  const Json* type = schema->find("type");
  if (type == nullptr || type->is_null()) return true;
  if (type->is_text()) return *type->as_text() == "object";
  const Json::Array* types = type->as_array();
  return types != nullptr && std::any_of(types->begin(), types->end(), [](const Json& one) {
           return one.is_text() && *one.as_text() == "object";
         });
}

void take_tool(ListedSoFar& listing, std::string_view definition, bool has_param_headers) {
  std::optional<Json> tool = parse_json_or_nothing(definition);
  std::string name(tool && tool->is_object() ? tool->text_or("name") : "");
  if (name.empty()) {
    listing.left_out.emplace_back("", "It has no name.");
    return;
  }
  auto [seen, is_new] = listing.definitions.emplace(name, definition);
  if (!is_new) {
    // Some servers answer every cursor with the same page.
    bool is_same = seen->second == definition;
    if (!is_same) listing.left_out.emplace_back(name, "The name is used twice.");
    return;
  }
  const Json* schema = tool->find("inputSchema");
  if (!takes_object(schema)) {
    listing.left_out.emplace_back(name, "Its inputSchema is not a schema of an object.");
    return;
  }
  std::optional<std::string> fault;
  if (has_param_headers && schema != nullptr) fault = param_header_fault(*schema);
  if (fault) {
    listing.left_out.emplace_back(name, *fault);
    return;
  }
  listing.tools.push_back({std::move(name), std::string(definition)});
}

// Returns the cursor of the next page, or nothing at the end. An empty one counts since revision
// 2026-07-28. In older servers it means the end.
std::optional<std::string> next_cursor(ListedSoFar& listing, const Json& page, bool is_modern) {
  const Json* cursor = page.find("nextCursor");
  if (cursor == nullptr || !cursor->is_text()) return std::nullopt;
  if (cursor->as_text()->empty() && !is_modern) return std::nullopt;
  // A cursor that was already followed leads in a circle.
  if (!listing.cursors.insert(*cursor->as_text()).second) return std::nullopt;
  return *cursor->as_text();
}

Page take_page(ListedSoFar& listing, std::string_view result, bool is_modern) {
  std::optional<Json> json = parse_json_or_nothing(result);
  const Json* tools = json && json->is_object() ? json->find("tools") : nullptr;
  bool is_list = tools != nullptr && (tools->is_array() || tools->is_null());
  if (!is_list) return {std::nullopt, "The server's answer is not a list of tools."};
  listing.bytes += result.size();
  for (std::string_view one : raw_elements(*raw_member(result, "tools"))) {
    take_tool(listing, one, is_modern);
  }
  bool is_too_much = listing.tools.size() + listing.left_out.size() > tools_max;
  if (is_too_much || listing.bytes > bytes_max) {
    return {std::nullopt, "The server lists more tools than can be read."};
  }
  const Json* ttl = json->find("ttlMs");
  std::optional<int64_t> ttl_ms = ttl == nullptr ? std::nullopt : whole_of(*ttl);
  if (ttl_ms) listing.ttl_ms = *ttl_ms;
  std::optional<std::string> cursor = next_cursor(listing, *json, is_modern);
  bool is_too_long = cursor && cursor->size() > cursor_bytes_max;
  if (is_too_long) return {std::nullopt, "The server's cursor is too long."};
  return {std::move(cursor), ""};
}

std::string outcome_json(const ListedSoFar& listing, const std::string& version) {
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
  Listing listing = std::make_shared<ListedSoFar>();
  Page page;
  for (int pages = 0; pages < pages_max; ++pages) {
    RpcMessage message;
    message.method = "tools/list";
    JsonWriter params;
    params.begin_object();
    if (page.cursor) params.member("cursor", *page.cursor);
    message.params = params.end_object().take();
    Task<SessionAnswer> requesting = session.request(std::move(message));
    SessionAnswer sent = co_await requesting;
    if (sent.refused || sent.answer.kind != RpcAnswer::Kind::result) co_return error_of(sent);
    // Thousands of definitions would hold up the loop.
    std::function<Page()> read = [listing, result = std::move(sent.answer.json),
                                  is_modern = session.version() == modern_version] {
      return take_page(*listing, result, is_modern);
    };
    page = co_await loop::on_thread(services.loop, std::move(read));
    if (!page.fault.empty()) co_return error_json("tool.bad_answer", page.fault);
    if (page.cursor) continue;
    std::function<std::string()> write = [listing, version = session.version()] {
      return outcome_json(*listing, version);
    };
    std::string outcome = co_await loop::on_thread(services.loop, std::move(write));
    Task<void> ending = session.end();
    co_await ending;
    co_return outcome;
  }
  co_return error_json("tool.bad_answer", "The server's list of tools has no end.");
}

}  // namespace hostler::runner
