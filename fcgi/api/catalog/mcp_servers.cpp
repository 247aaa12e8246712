// MCP servers, whose tools models may call, and their tools as they are pinned. Statements:
// sql/queries/mcp_servers.sql. What a server says is the daemon's to ask: nothing here calls one.
#include <algorithm>

#include "fcgi/api/catalog/mcp_authorization.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/address_check.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "lib/http/client_url.h"
#include "lib/json.h"
#include "queries/mcp_servers.h"

namespace hostler {
namespace {

constexpr TextBounds key_bounds{.min = 1, .max = 32};
constexpr TextBounds url_bounds{.min = 1, .max = 2048};
constexpr TextBounds tool_bounds{.min = 1, .max = 256};
constexpr TextBounds hash_bounds{.min = 64, .max = 64};
constexpr size_t allowed_max = 128;

bool is_server_key(std::string_view key) {
  return std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

// The form alone; whether the address may be called is checked when nothing else is wrong.
std::optional<http::HttpUrl> read_url(Fields& fields, const std::string& written) {
  std::optional<http::HttpUrl> url = http::parse_http_url(written);
  bool is_sound = url && has_sound_form(written, *url) && !url->has_user_info && !url->has_fragment;
  if (is_sound) return url;
  fields.fault("url", "bad_format",
               "must be an http or https URL in ASCII (percent-encoded) without user info and "
               "fragment");
  return std::nullopt;
}

// The platform's may lead to private addresses, and do without TLS: administrators choose them. A
// name that does not resolve is checked when it is dialled.
Task<void> check_address(const Call& call, http::HttpUrl url) {
  if (!call.input.is_org_scope()) co_return;
  bool is_plain = url.scheme != "https";
  http::HttpUrl again = url;
  bool is_denied = co_await is_denied_to_tenants(call.loop, call.input.settings, std::move(url));
  if (is_denied) {
    throw Error(ErrorCode::tool_url_denied,
                "url must lead to a public address, on a port that no other service has.");
  }
  if (!is_plain) co_return;
  bool is_allowed = co_await is_allowed_by_name(call.loop, call.input.settings, std::move(again));
  if (!is_allowed) {
    throw Error(ErrorCode::tool_url_denied,
                "url must be https, unless outbound.allow_cidrs names its address.");
  }
}

void read_allowed_tools(Fields& fields, bool is_new, JsonWriter& json) {
  auto allowed = fields.optional_texts("allowed_tools", allowed_max, tool_bounds);
  if (!allowed && !is_new) return;
  std::vector<std::string> names;
  for (std::string& name : allowed.value_or(std::vector<std::string>())) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  }
  json.key("allowed_tools").begin_array();
  for (const std::string& name : names) json.text(name);
  json.end_array();
}

struct ServerMembers {
  std::optional<http::HttpUrl> url;
  std::optional<McpAuthorization> authorization;
};

// A change does not write the members that it leaves out; a new server has them all.
ServerMembers read_members(Fields& fields, bool is_new, JsonWriter& json) {
  ServerMembers members;
  std::optional<std::string> written =
      is_new ? fields.required_text("url", url_bounds) : fields.optional_text("url", url_bounds);
  if (written && !written->empty()) {
    members.url = read_url(fields, *written);
    json.member("url", *written);
  }
  members.authorization = read_mcp_authorization(fields);
  if (is_new && !members.authorization) members.authorization = McpAuthorization{"none", "{}", ""};
  if (members.authorization) members.authorization->add_to(json);
  read_allowed_tools(fields, is_new, json);
  std::optional<std::string> trust = fields.optional_choice("trust", {"ask", "run"});
  if (trust || is_new) json.member("trust", trust.value_or("ask"));
  std::optional<bool> is_active = fields.optional_boolean("is_active");
  if (is_active || is_new) json.member("is_active", is_active.value_or(true));
  return members;
}

}  // namespace

OneStatement list_mcp_servers(const Input& input) {
  Page page = input.page();
  return OneStatement::items(input,
                             query::McpServerPage{.limit = page.limit, .before = page.before},
                             {.limit = page.limit});
}

Task<Response> create_mcp_server(Call& call) {
  Fields fields = call.input.body();
  JsonWriter wanted;
  wanted.begin_object();
  std::string key = fields.required_text("key", key_bounds);
  if (!is_server_key(key)) {
    fields.fault("key", "bad_format",
                 "must have 1 to 32 characters from a to z, 0 to 9 and hyphens");
  }
  wanted.member("key", key);
  ServerMembers members = read_members(fields, true, wanted);
  wanted.end_object();
  fields.check();
  co_await check_address(call, *members.url);
  postgres::BoundStatement adding =
      query::McpServerCreate{.wanted = wanted.take(),
                             .secret = members.authorization->sealed(call),
                             .limit_mcp_servers = call.input.settings.integer("limit.mcp_servers")};
  postgres::Result created = co_await call.database.query(std::move(adding));
  co_return Response::json_row(201, std::move(created));
}

OneStatement show_mcp_server(const Input& input) {
  return OneStatement::row(query::McpServerShow{.server_id = input.path_value("server_id")});
}

Task<Response> update_mcp_server(Call& call) {
  Fields fields = call.input.body();
  JsonWriter changes;
  changes.begin_object();
  ServerMembers members = read_members(fields, false, changes);
  changes.end_object();
  fields.check_patch();
  if (members.url) co_await check_address(call, *members.url);
  std::optional<std::string> secret;
  if (members.authorization) secret = members.authorization->sealed(call);
  postgres::BoundStatement changing =
      query::McpServerUpdate{.server_id = call.input.path_value("server_id"),
                             .changes = changes.take(),
                             .secret = std::move(secret)};
  postgres::Result changed = co_await call.database.query(std::move(changing));
  co_return Response::json_row(200, std::move(changed));
}

OneStatement delete_mcp_server(const Input& input) {
  return OneStatement::no_content(
      query::McpServerDelete{.server_id = input.path_value("server_id")});
}

OneStatement refresh_mcp_server(const Input& input) {
  return OneStatement::row(query::McpServerRefresh{.server_id = input.path_value("server_id")},
                           202);
}

OneStatement list_mcp_tools(const Input& input) {
  Page page = input.page();
  return OneStatement::items(
      input,
      query::McpToolPage{
          .server_id = input.path_value("server_id"), .limit = page.limit, .before = page.before},
      {.limit = page.limit});
}

OneStatement approve_mcp_tool(const Input& input) {
  Fields fields = input.optional_body();
  std::optional<std::string> hash = fields.optional_text("hash", hash_bounds);
  fields.check();
  return OneStatement::row(query::McpToolApprove{.server_id = input.path_value("server_id"),
                                                 .tool_name = input.path_value("tool"),
                                                 .hash = std::move(hash)});
}

}  // namespace hostler
