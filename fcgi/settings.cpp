// Live settings, for platform administrators. Statements: sql/queries/settings.sql. Start settings
// (file and environment only) do not exist here.
#include "lib/settings.h"

#include <algorithm>
#include <array>

#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/services.h"
#include "lib/json.h"
#include "lib/loop/live_settings.h"
#include "queries/llm_catalog.h"
#include "queries/settings.h"

namespace hostler {
namespace {

// The table's rows by name.
constexpr std::array<size_t, setting_count> by_name = [] {
  std::array<size_t, setting_count> indexes{};
  for (size_t i = 0; i < setting_count; ++i) indexes[i] = i;
  std::sort(indexes.begin(), indexes.end(),
            [](size_t a, size_t b) { return setting_rows[a].name < setting_rows[b].name; });
  return indexes;
}();

bool is_live(size_t index) { return setting_rows[index].kind == SettingKind::live; }

size_t live_setting(const Request& request) {
  size_t index = find_setting(request.path_value("key"));
  if (index == setting_count || !is_live(index)) {
    throw Error(ErrorCode::settings_not_found, "GET /v1/admin/settings lists those there are.");
  }
  return index;
}

std::string_view source_name(SettingSource source) {
  switch (source) {
    case SettingSource::fallback:
      return "default";
    case SettingSource::file:
    case SettingSource::environment:
      return "env";
    case SettingSource::database:
      return "db";
  }
  return "";
}

void write_setting(JsonWriter& json, size_t index, const Settings& settings) {
  const SettingRow& row = setting_rows[index];
  json.begin_object().member("key", row.name);
  json.member_raw("value", row.is_secret ? "null" : setting_json(settings.value(index)));
  json.member("source", source_name(settings.source(index))).member("secret", row.is_secret);
  json.end_object();
}

// The member "value", or an empty one after a fault.
SettingValue read_value(const SettingRow& row, Fields& fields) {
  const Json* value = fields.any("value");
  if (value == nullptr) {
    fields.fault("value", "required", "is required");
    return {};
  }
  SettingReading reading = read_setting(row, *value);
  if (const SettingFault* fault = std::get_if<SettingFault>(&reading)) {
    fields.fault("value", fault->code, fault->message);
    return {};
  }
  return std::get<SettingValue>(std::move(reading));
}

// The secret setting's value, sealed under a new id for this setting alone.
Task<std::string> seal_value(Services& services, Request& request, const SettingRow& row,
                             std::string plain) {
  Result made = co_await services.query(request, query::secret_id_new);
  SecretPlace place{std::string(made.front().text("id")), "", setting_secret_kind(row)};
  co_return secret_json(place, services.secret_box().seal(place, plain));
}

}  // namespace

Task<Response> list_settings(Services& services, Request& request) {
  // Not this worker's snapshot: whoever just changed a setting sees it.
  Result stored = co_await services.query(request, query::settings_all);
  Settings settings =
      settings_with_stored(services.configured_settings(), stored, &services.secret_box());
  JsonWriter json;
  json.begin_array();
  for (size_t index : by_name) {
    if (is_live(index)) write_setting(json, index, settings);
  }
  json.end_array();
  co_return Response::json_text(200, json.take());
}

Task<Response> set_setting(Services& services, Request& request) {
  size_t index = live_setting(request);
  const SettingRow& row = setting_rows[index];
  Fields fields = Fields::of_body(request);
  SettingValue value = read_value(row, fields);
  fields.check();

  Params params;
  params.text(row.name);
  if (row.is_secret) {
    std::string plain = std::get<std::string>(value);
    std::string secret = co_await seal_value(services, request, row, std::move(plain));
    params.null().text(secret);
  } else {
    params.text(setting_json(value)).null();
  }
  co_await services.query(request, query::setting_set, std::move(params));

  Settings settings;
  settings.set(index, std::move(value), SettingSource::database);
  JsonWriter json;
  write_setting(json, index, settings);
  co_return Response::json_text(200, json.take());
}

Task<Response> unset_setting(Services& services, Request& request) {
  size_t index = live_setting(request);
  Params params;
  params.text(setting_rows[index].name);
  co_await services.query(request, query::setting_unset, std::move(params));
  co_return Response::no_content();
}

}  // namespace hostler
