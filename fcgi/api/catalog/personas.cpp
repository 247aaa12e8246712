// Personas of the platform and of organizations: who an agent is. Statements:
// sql/queries/personas.sql.
#include <algorithm>

#include <fmt/format.h>

#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/http/persona_id.h"
#include "fcgi/http/response_format.h"
#include "lib/ids.h"
#include "lib/json.h"
#include "lib/tool_names.h"
#include "queries/personas.h"

namespace hostler {
namespace {

constexpr TextBounds name_bounds{.min = 1, .max = 200, .trims = true, .is_name = true};
constexpr TextBounds description_bounds{.max = 2000, .takes_control = true};
constexpr TextBounds prompt_bounds{.max = 65'536, .bytes_max = 256 << 10, .takes_control = true};
constexpr size_t fallback_routes_max = 5;
constexpr Bounds turns_bounds{1, 10'000};
constexpr NumberBounds temperature_bounds{0, 2};

// Returns each name once, in the given order, and adds a fault for each invalid one. Names of tools
// must be existing tools, or mean all of an MCP server, which the statement checks. Names for
// confirmation may be tools that only runs declare.
std::optional<std::vector<std::string>> read_tools(Fields& fields, std::string_view name) {
  std::optional<std::vector<std::string>> given = fields.optional_texts(name, 100, {.max = 64});
  if (!given) return std::nullopt;
  std::vector<std::string> tools;
  for (size_t i = 0; i < given->size(); ++i) {
    const std::string& tool = (*given)[i];
    bool is_all_of_server = name == "tools" && names_all_of_server(tool);
    if (!is_well_formed_tool_name(tool) && !is_all_of_server) {
      fields.fault(fmt::format("{}.{}", name, i), "bad_format", std::string(tool_name_words));
    } else if (std::find(tools.begin(), tools.end(), tool) == tools.end()) {
      tools.push_back(tool);
    }
  }
  return tools;
}

// Names that only the statement knows, each with its place in the body.
void add_other_tools(Fields& fields, const std::vector<std::string>& tools, JsonWriter& json) {
  const Json::Array& written = *fields.any("tools")->as_array();
  json.key("other_tools").begin_array();
  for (const std::string& tool : tools) {
    if (is_tool_name(tool)) continue;
    auto at = std::find_if(written.begin(), written.end(), [&](const Json& item) {
      return item.is_text() && *item.as_text() == tool;
    });
    json.begin_object().member("name", tool).member("nth", at - written.begin()).end_object();
  }
  json.end_array();
}

// Ids of models. The statement checks that they exist.
std::optional<std::vector<std::string>> read_fallback_routes(Fields& fields) {
  std::optional<std::vector<std::string>> routes =
      fields.optional_texts("fallback_routes", fallback_routes_max, {.max = 36});
  if (!routes) return std::nullopt;
  for (auto route = routes->begin(); route != routes->end(); ++route) {
    std::string field = fmt::format("fallback_routes.{}", route - routes->begin());
    if (!is_uuid(*route)) {
      fields.fault(field, "bad_format", "must be the route_id of a model");
    } else if (std::find(routes->begin(), route, *route) != route) {
      fields.fault(field, "duplicate", "must not be in the chain twice");
    }
  }
  return routes;
}

using Texts = std::optional<std::vector<std::string>>;

void add_texts(std::string_view name, const Texts& texts, JsonWriter& json) {
  if (!texts) return;
  json.key(name).begin_array();
  for (const std::string& text : *texts) json.text(text);
  json.end_array();
}

template <class T, class Write>
void add_nullable(std::string_view name, const Nullable<T>& member, JsonWriter& json, Write write) {
  if (!member.is_given) return;
  json.key(name);
  if (member.value) {
    write(*member.value);
  } else {
    json.null();
  }
}

// Members that may also be changed later; a new persona gets defaults for absent ones.
void read_members(Fields& fields, bool is_new, JsonWriter& json) {
  std::optional<std::string> description = fields.optional_text("description", description_bounds);
  if (description || is_new) json.member("description", description.value_or(""));
  std::optional<std::string> prompt = fields.optional_text("system_prompt", prompt_bounds);
  if (prompt || is_new) json.member("system_prompt", prompt.value_or(""));
  Texts tools = read_tools(fields, "tools");
  if (tools) add_other_tools(fields, *tools, json);
  Texts confirmed = read_tools(fields, "confirm_tools");
  if (is_new && !tools) tools.emplace();
  if (is_new && !confirmed) confirmed.emplace();
  add_texts("tools", tools, json);
  add_texts("confirm_tools", confirmed, json);
  add_nullable("model", fields.nullable_text("model", name_bounds), json,
               [&](const std::string& model) { json.text(model); });
  Texts fallback_routes = read_fallback_routes(fields);
  if (is_new && !fallback_routes) fallback_routes.emplace();
  add_texts("fallback_routes", fallback_routes, json);
  add_nullable("max_turns", fields.nullable_integer("max_turns", turns_bounds), json,
               [&](int64_t turns) { json.integer(turns); });
  add_nullable("temperature", fields.nullable_number("temperature", temperature_bounds), json,
               [&](double temperature) { json.number(temperature); });
  // Returns it as a text: see the table.
  add_nullable("response_format", read_response_format(fields), json,
               [&](const std::string& format) { json.text(format); });
  std::optional<bool> is_active = fields.optional_boolean("is_active");
  if (is_active || is_new) json.member("is_active", is_active.value_or(true));
}

}  // namespace

OneStatement list_personas(const Input& input) {
  QueryFields fields = input.query();
  bool is_of_org = fields.choice("scope", {"platform", "org"}) == "org";
  Page page = Input::page_of(fields);
  fields.check();
  return OneStatement::items(
      input, query::PersonaPage{.of_org = is_of_org, .limit = page.limit, .before = page.before},
      {.limit = page.limit});
}

OneStatement create_persona(const Input& input) {
  Fields fields = input.body();
  std::string key = fields.required_text("persona_key", {.min = 1, .max = persona_key_max});
  std::string version = fields.required_text("version", {.min = 1, .max = persona_version_max});
  if (!key.empty() && !is_persona_key(key)) {
    fields.fault("persona_key", "bad_format",
                 "must consist of lower-case letters, digits, underscores and hyphens");
  }
  if (!version.empty() && !is_persona_version(version)) {
    fields.fault("version", "bad_format",
                 "must consist of letters, digits, dots, underscores and hyphens");
  }
  std::optional<std::string> display_name = fields.optional_text("display_name", name_bounds);
  JsonWriter wanted;
  wanted.begin_object().member("persona_key", key).member("version", version);
  wanted.member("display_name", display_name.value_or(key));
  read_members(fields, true, wanted);
  wanted.end_object();
  fields.check();
  return OneStatement::row(
      query::PersonaCreate{.wanted = wanted.take(),
                           .limit_personas = input.settings.integer("limit.personas")},
      201);
}

OneStatement update_persona(const Input& input) {
  Fields fields = input.body();
  JsonWriter changes;
  changes.begin_object();
  std::optional<std::string> display_name = fields.optional_text("display_name", name_bounds);
  if (display_name) changes.member("display_name", *display_name);
  read_members(fields, false, changes);
  changes.end_object();
  fields.check_patch();
  return OneStatement::row(query::PersonaUpdate{.persona_id = input.path_value("persona_id"),
                                                .changes = changes.take()});
}

OneStatement delete_persona(const Input& input) {
  return OneStatement::no_content(
      query::PersonaDelete{.persona_id = input.path_value("persona_id")});
}

}  // namespace hostler
