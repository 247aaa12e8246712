// Settings with their sources; see ctl/show_config.h.
#include "ctl/show_config.h"

#include <memory>
#include <optional>

#include <fmt/format.h>

#include "ctl/cors_map.h"
#include "ctl/output.h"
#include "ctl/owner_session.h"
#include "lib/config/live_settings.h"
#include "lib/json.h"
#include "queries/settings.h"

namespace hostler {
namespace {

struct ConfigOptions {
  bool changed_only = false;
  bool as_example = false;
};

struct InForce {
  config::Settings settings;
  std::array<bool, config::setting_count> is_hidden{};  // a stored secret: it stays closed here
};

// Stored values win over files and environment, if the database can be asked.
InForce settings_in_force(const CommandCall& call) {
  InForce in_force{call.settings(), {}};
  const std::string& url = call.settings().text("database.url");
  std::optional<std::string> why_not = postgres::why_no_connection(url);
  OwnerSession owner;
  if (!why_not) owner = open_migrated(url, "hostlerctl config");
  if (!why_not && !owner.session) why_not = owner.refusal;
  if (why_not) {
    print_err("hostlerctl: settings that administrators stored are missing here: " + *why_not);
    return in_force;
  }
  postgres::Result stored = owner.session->run(query::SettingsAll{});
  in_force.settings = config::settings_with_stored(call.settings(), stored, nullptr);
  for (int i = 0; i < stored.size(); ++i) {
    size_t index = config::find_setting(stored[i].text("key"));
    if (index != config::setting_count)
      in_force.is_hidden[index] = config::setting_rows[index].is_secret;
  }
  return in_force;
}

std::string_view source_name(config::SettingSource source) {
  switch (source) {
    case config::SettingSource::fallback:
      return "default";
    case config::SettingSource::file:
      return "file";
    case config::SettingSource::environment:
      return "environment";
    case config::SettingSource::database:
      return "database";
  }
  __builtin_unreachable();
}

int print_config(const CommandCall& call, const ConfigOptions& options) {
  if (options.as_example) {
    std::string text = config::print_settings(call.settings());
    JsonWriter json;
    json.begin_object().member("example", text).end_object();
    return answer(call.as_json, json.take(), text);
  }
  InForce in_force = settings_in_force(call);
  std::string lines;
  JsonWriter json;
  json.begin_array();
  for (size_t i = 0; i < config::setting_count; ++i) {
    const config::SettingRow& row = config::setting_rows[i];
    bool is_stored = in_force.is_hidden[i];
    config::SettingSource source =
        is_stored ? config::SettingSource::database : in_force.settings.source(i);
    if (options.changed_only && source == config::SettingSource::fallback) continue;
    std::string value =
        is_stored ? R"("****")" : config::shown_setting(row, in_force.settings.value(i));
    bool has_origin =
        source == config::SettingSource::file || source == config::SettingSource::environment;
    std::string origin(has_origin ? std::string_view(call.loaded.origins[i]) : source_name(source));
    json.begin_object().member("key", row.name).member_raw("value", value);
    json.member("source", source_name(source)).member("origin", origin);
    json.member("secret", row.is_secret).member("live", row.kind == config::SettingKind::live);
    json.end_object();
    bool is_comment = is_stored || config::is_masked(row, in_force.settings.value(i));
    lines += fmt::format("{}{} = {}  # {}\n", is_comment ? "#" : "", row.name, value, origin);
  }
  json.end_array();
  return answer(call.as_json, json.take(), lines);
}

int print_cors_map(const CommandCall& call) {
  std::string map = cors_map(settings_in_force(call).settings.strings("http.cors_origins"));
  JsonWriter json;
  json.begin_object().member("cors_map", map).end_object();
  return answer(call.as_json, json.take(), map);
}

int report_checked(const CommandCall& call) { return answer(call.as_json, R"({"ok":true})", ""); }

}  // namespace

void add_config_commands(CommandLine& line) {
  auto options = std::make_shared<ConfigOptions>();
  CommandWord config =
      line.command("config", "print the settings in force, each with its source; secrets masked",
                   [options](const CommandCall& call) { return print_config(call, *options); });
  CommandOption changed =
      config.add_flag("--changed", options->changed_only, "only settings without their default");
  config
      .add_flag("--example", options->as_example,
                "print the settings of files and environment as a file, with a comment for each")
      .excludes(changed);
  line.command("cors-map", "print http.cors_origins in nginx's form, for cors_origins.map",
               print_cors_map);
  line.command("check-config", "print the faults of the settings, if any", report_checked);
}

}  // namespace hostler
