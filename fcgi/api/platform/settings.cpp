// Live settings, for platform administrators. Statements: sql/queries/settings.sql. Start settings
// (file and environment only) do not exist here.
#include "lib/config/settings.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/sealed_secret.h"
#include "lib/config/live_settings.h"
#include "lib/json.h"
#include "queries/settings.h"

namespace hostler {
namespace {

// The table's rows by name.
constexpr std::array<size_t, config::setting_count> by_name = [] {
  std::array<size_t, config::setting_count> indexes{};
  std::iota(indexes.begin(), indexes.end(), size_t{0});
  std::sort(indexes.begin(), indexes.end(), [](size_t a, size_t b) {
    return config::setting_rows[a].name < config::setting_rows[b].name;
  });
  return indexes;
}();

bool is_live(size_t index) { return config::setting_rows[index].kind == config::SettingKind::live; }

size_t live_setting(const Input& input) {
  size_t index = config::find_setting(input.path_value("key"));
  if (index == config::setting_count || !is_live(index)) {
    throw Error(ErrorCode::settings_not_found, "GET /v1/admin/settings lists the settings.");
  }
  return index;
}

std::string_view source_name(config::SettingSource source) {
  switch (source) {
    case config::SettingSource::fallback:
      return "default";
    case config::SettingSource::file:
    case config::SettingSource::environment:
      return "env";
    case config::SettingSource::database:
      return "db";
  }
  return "";
}

std::string_view type_name(config::SettingType type) {
  switch (type) {
    case config::SettingType::text:
      return "text";
    case config::SettingType::integer:
      return "integer";
    case config::SettingType::number:
      return "number";
    case config::SettingType::boolean:
      return "boolean";
    case config::SettingType::strings:
      return "strings";
    case config::SettingType::choice:
      return "choice";
  }
  return "";
}

// Allowed values of the setting, and its effect.
void write_description(JsonWriter& json, const config::SettingRow& row) {
  bool has_bounds =
      row.type == config::SettingType::integer || row.type == config::SettingType::number;
  json.member("type", type_name(row.type));
  if (has_bounds) {
    json.member("minimum", row.min).member("maximum", row.max);
  } else {
    json.member_raw("minimum", "null").member_raw("maximum", "null");
  }
  row.unit.empty() ? json.member_raw("unit", "null") : json.member("unit", row.unit);
  json.member("description", row.sentence).key("choices").begin_array();
  std::string_view rest = row.choices;
  for (bool has_more = row.type == config::SettingType::choice; has_more;) {
    size_t bar = rest.find('|');
    json.text(rest.substr(0, bar));
    has_more = bar != rest.npos;
    rest.remove_prefix(has_more ? bar + 1 : rest.size());
  }
  json.end_array();
}

// Returns what the operator must do so that a change is in force everywhere; empty: nothing.
std::string_view notice_of(const config::SettingRow& row) {
  if (row.name != "http.cors_origins") return "";
  return "nginx needs the list for its own errors. On each host of nginx run hostlerctl cors-map > "
         "/etc/nginx/hostler/cors_origins.map, then reload nginx.";
}

void write_setting(JsonWriter& json, size_t index, const config::Settings& settings) {
  const config::SettingRow& row = config::setting_rows[index];
  json.begin_object().member("key", row.name);
  json.member_raw("value", row.is_secret ? "null" : config::setting_json(settings.value(index)));
  json.member("source", source_name(settings.source(index))).member("secret", row.is_secret);
  write_description(json, row);
  json.key("notice");
  std::string_view notice = notice_of(row);
  notice.empty() ? json.null() : json.text(notice);
  json.end_object();
}

// The member "value", or an empty one after a fault.
config::SettingValue read_value(const config::SettingRow& row, Fields& fields) {
  const Json* value = fields.any("value");
  if (value == nullptr) {
    fields.fault("value", "required", "is required");
    return {};
  }
  config::SettingReading reading = config::read_setting(row, *value);
  if (const config::SettingFault* fault = std::get_if<config::SettingFault>(&reading)) {
    fields.fault("value", fault->code, fault->message);
    return {};
  }
  return std::get<config::SettingValue>(std::move(reading));
}

// Stored form of the setting: its value, or for a secret one the value sealed for it alone.
query::SettingSet setting_stored(const Input& input, const config::SettingRow& row,
                                 const config::SettingValue& value) {
  if (!row.is_secret) {
    return {.key = row.name, .value = config::setting_json(value), .secret = std::nullopt};
  }
  NewSecret secret = seal_secret(input.secret_box, "", config::setting_secret_kind(row),
                                 std::get<std::string>(value));
  return {.key = row.name, .value = std::nullopt, .secret = secret.json};
}

}  // namespace

OneStatement list_settings(const Input& input) {
  // Not this worker's snapshot, so that a caller who just changed a setting sees the change.
  return {query::SettingsAll{}, [&input](const postgres::Result& stored) {
            config::Settings settings =
                config::settings_with_stored(input.configured, stored, &input.secret_box);
            JsonWriter json;
            json.begin_array();
            for (size_t index : by_name) {
              if (is_live(index)) write_setting(json, index, settings);
            }
            json.end_array();
            return Response::json_text(200, json.take());
          }};
}

OneStatement set_setting(const Input& input) {
  size_t index = live_setting(input);
  const config::SettingRow& row = config::setting_rows[index];
  Fields fields = input.body();
  config::SettingValue value = read_value(row, fields);
  fields.check();

  query::SettingSet storing = setting_stored(input, row, value);
  config::Settings settings;
  settings.set(index, std::move(value), config::SettingSource::database);
  JsonWriter json;
  write_setting(json, index, settings);
  return {std::move(storing), [answer = json.take()](const postgres::Result&) {
            return Response::json_text(200, answer);
          }};
}

OneStatement unset_setting(const Input& input) {
  size_t index = live_setting(input);
  return OneStatement::no_content(query::SettingUnset{.key = config::setting_rows[index].name});
}

}  // namespace hostler
