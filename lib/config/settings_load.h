// Loads the settings from file and environment, and prints them. Called by the mains before
// anything else; never by a handler. A bad configuration is reported with all its faults.
//
// Weakest first: the defaults of lib/config/settings_table.h, the file, the files conf.d/*.toml
// beside it in the order of their names, HOSTLER_… variables, and (lib/config/live_settings.h) the
// database.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "lib/config/settings.h"

namespace hostler::config {

// sysexits.h: what a program ends with when its configuration is bad.
constexpr int exit_bad_configuration = 78;
constexpr std::string_view default_settings_file = "/etc/hostler/hostler.toml";

struct LoadedSettings {
  Settings settings;
  // "/etc/hostler/hostler.toml:3:1: there is no setting …"; empty when all is well.
  std::vector<std::string> faults;
  // Where each was set, by its index in the table: "/etc/hostler/hostler.toml:3:1", "environment:
  // HOSTLER_RUN_SLOTS"; empty for a default.
  std::array<std::string, setting_count> origins;
};

// path empty: the default file, which may be missing. A file that is named must exist.
// environment: NAME=value each, as in environ.
LoadedSettings load_settings(const std::string& path, char* const* environment);

// The text of one file, put on top of what loaded has.
void read_settings_file(std::string_view text, const std::string& path, LoadedSettings& loaded);
void read_settings_environment(char* const* environment, LoadedSettings& loaded);

// The value as TOML and JSON write it; secrets and the password of a connection are masked.
std::string shown_setting(const SettingRow& row, const SettingValue& value);
// Whether that is another than the value: a file that somebody makes of it must leave it out.
bool is_masked(const SettingRow& row, const SettingValue& value);

// The table as a commented file: what has its default, or is masked, is commented out.
std::string print_settings(const Settings& settings);

}  // namespace hostler::config
