// Webhook tools: calls of models that an app's own server answers. Statements:
// sql/queries/tools.sql. How they are called is the daemon's (runner/tools/webhook_call.h).
#include <fmt/format.h>

#include "fcgi/api/handlers.h"
#include "fcgi/http/address_check.h"
#include "fcgi/http/input.h"
#include "fcgi/http/tool_parameters.h"
#include "fcgi/identity/caller_database.h"
#include "fcgi/identity/sealed_secret.h"
#include "lib/http/client_url.h"
#include "lib/json.h"
#include "lib/tool_names.h"
#include "queries/tools.h"

namespace hostler {
namespace {

constexpr TextBounds name_bounds{.min = 1, .max = 64};
constexpr TextBounds description_bounds{.max = 10'000, .takes_control = true};
constexpr TextBounds url_bounds{.min = 1, .max = 2048};
constexpr Bounds timeout_bounds{1, 600};
constexpr int64_t timeout_default = 30;

// The form alone; whether the address may be called is checked when nothing else is wrong.
std::optional<http::HttpUrl> read_url(const Input& input, Fields& fields,
                                      const std::string& written) {
  std::optional<http::HttpUrl> url = http::parse_http_url(written);
  bool is_sound = url && has_sound_form(written, *url) && !url->has_user_info;
  bool has_scheme = url && (url->scheme == "https" || !input.is_org_scope());
  if (is_sound && has_scheme) return url;
  fields.fault("url", "bad_format",
               input.is_org_scope()
                   ? "must be an https URL in ASCII (percent-encoded) without user info"
                   : "must be an http or https URL in ASCII (percent-encoded) without user info");
  return std::nullopt;
}

// The platform's tools too: what a call says comes from a tenant's model. A name that does not
// resolve is checked when it is dialled.
Task<void> check_address(const Call& call, http::HttpUrl url) {
  bool is_denied = co_await is_denied_to_tenants(call.loop, call.input.settings, std::move(url));
  if (is_denied) {
    throw Error(ErrorCode::tool_url_denied,
                "url must lead to a public address, on a port that no other service has.");
  }
}

SigningSecret make_secret(const Call& call) {
  std::string org_id = call.input.is_org_scope() ? call.caller.org_id : std::string();
  return make_signing_secret(call.input.secret_box, std::move(org_id), "tool");
}

struct ToolMembers {
  std::string name;  // empty: not given
  std::optional<http::HttpUrl> url;
};

void check_name(Fields& fields, const std::string& name) {
  if (!is_well_formed_tool_name(name)) {
    fields.fault("name", "bad_format", std::string(tool_name_words));
  }
}

// A change does not write the members that it leaves out; a new tool has them all.
ToolMembers read_members(const Input& input, Fields& fields, bool is_new, JsonWriter& json) {
  ToolMembers members;
  members.name = is_new ? fields.required_text("name", name_bounds)
                        : fields.optional_text("name", name_bounds).value_or("");
  if (!members.name.empty()) {
    check_name(fields, members.name);
    json.member("name", members.name);
  }
  if (is_new) {
    json.member("description", fields.required_text("description", description_bounds));
  } else if (auto description = fields.optional_text("description", description_bounds)) {
    json.member("description", *description);
  }
  if (is_new || fields.has("parameters")) {
    json_schema::PatternLoad load;
    json.member("parameters", read_tool_parameters(fields, load));
  }
  std::optional<std::string> written =
      is_new ? fields.required_text("url", url_bounds) : fields.optional_text("url", url_bounds);
  if (written && !written->empty()) {
    members.url = read_url(input, fields, *written);
    json.member("url", *written);
  }
  std::optional<int64_t> timeout = fields.optional_integer("timeout_seconds", timeout_bounds);
  if (timeout || is_new) json.member("timeout_seconds", timeout.value_or(timeout_default));
  std::optional<bool> is_repeatable = fields.optional_boolean("is_repeatable");
  if (is_repeatable || is_new) json.member("is_repeatable", is_repeatable.value_or(false));
  std::optional<bool> is_active = fields.optional_boolean("is_active");
  if (is_active || is_new) json.member("is_active", is_active.value_or(true));
  return members;
}

void refuse_built_in(const std::string& name) {
  if (is_tool_name(name)) {
    throw Error(ErrorCode::tools_name_taken, fmt::format("{} is a built-in tool.", name));
  }
}

}  // namespace

OneStatement list_tools(const Input& input) {
  QueryFields fields = input.query();
  fields.choice("scope", {"platform", "org"});
  Page page = Input::page_of(fields);
  fields.check();
  return OneStatement::items(input, query::ToolPage{.limit = page.limit, .before = page.before},
                             {.limit = page.limit});
}

Task<Response> create_tool(Call& call) {
  Fields fields = call.input.body();
  JsonWriter wanted;
  wanted.begin_object();
  ToolMembers members = read_members(call.input, fields, true, wanted);
  wanted.end_object();
  fields.check();
  refuse_built_in(members.name);
  co_await check_address(call, *members.url);
  SigningSecret secret = make_secret(call);
  postgres::BoundStatement adding =
      query::ToolCreate{.wanted = wanted.take(),
                        .secret = secret.json,
                        .limit_tools = call.input.settings.integer("limit.tools")};
  postgres::Result created = co_await call.database.query(std::move(adding));
  co_return Response::json_row_with(201, created, "signing_secret", secret.text);
}

Task<Response> update_tool(Call& call) {
  Fields fields = call.input.body();
  JsonWriter changes;
  changes.begin_object();
  ToolMembers members = read_members(call.input, fields, false, changes);
  changes.end_object();
  fields.check_patch();
  refuse_built_in(members.name);
  if (members.url) co_await check_address(call, *members.url);
  postgres::BoundStatement changing =
      query::ToolUpdate{.tool_id = call.input.path_value("tool_id"), .changes = changes.take()};
  postgres::Result changed = co_await call.database.query(std::move(changing));
  co_return Response::json_row(200, std::move(changed));
}

OneStatement delete_tool(const Input& input) {
  return OneStatement::no_content(query::ToolDelete{.tool_id = input.path_value("tool_id")});
}

Task<Response> rotate_tool_secret(Call& call) {
  SigningSecret secret = make_secret(call);
  postgres::BoundStatement rotating =
      query::ToolRotate{.tool_id = call.input.path_value("tool_id"), .secret = secret.json};
  co_await call.database.query(std::move(rotating));
  JsonWriter json;
  json.begin_object().member("signing_secret", secret.text).end_object();
  co_return Response::json_text(200, json.take());
}

}  // namespace hostler
