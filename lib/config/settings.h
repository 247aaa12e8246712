// The settings in force, as an immutable snapshot. Rows: lib/config/settings_table.h. The mains
// load it (lib/config/settings_load.h) and pass it on as shared_ptr<const Settings>; there is no
// global one.
//
// A look-up names the setting in full: settings.integer("auth.access_token_seconds"). A name that
// does not exist, or is of another type, does not compile.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/config/settings_table.h"
#include "lib/json.h"

namespace hostler::config {

template <SettingType type>
class SettingName {
 public:
  template <size_t size>
  consteval SettingName(const char (&name)[size])  // NOLINT(google-explicit-constructor)
      : index_(find_setting(std::string_view(name, size - 1))) {
    if (index_ == setting_count) throw "there is no setting of this name";
    bool fits = setting_rows[index_].type == type ||
                (type == SettingType::text && setting_rows[index_].type == SettingType::choice);
    if (!fits) throw "the setting is of another type";
  }
  constexpr size_t index() const { return index_; }

 private:
  size_t index_;
};

using SettingValue = std::variant<std::string, int64_t, bool, std::vector<std::string>, double>;

// Weakest first. file and environment are both "env" to clients (contract section 9).
enum class SettingSource { fallback, file, environment, database };

class Settings {
 public:
  Settings();  // all defaults

  const std::string& text(SettingName<SettingType::text> name) const;  // also choices
  int64_t integer(SettingName<SettingType::integer> name) const;
  double number(SettingName<SettingType::number> name) const;
  bool boolean(SettingName<SettingType::boolean> name) const;
  const std::vector<std::string>& strings(SettingName<SettingType::strings> name) const;

  // By index in the table: for what walks all of it.
  const SettingValue& value(size_t index) const { return entries_[index].value; }
  SettingSource source(size_t index) const { return entries_[index].source; }
  // The value must have been read by one of the readers below.
  void set(size_t index, SettingValue value, SettingSource source);

 private:
  struct Entry {
    SettingValue value;
    SettingSource source = SettingSource::fallback;
  };
  std::array<Entry, setting_count> entries_;
};

// A value of the row, or what is wrong with it: "auth.x: 5 is out of bounds (10 to 86400 seconds)".
struct SettingFault {
  std::string code;  // wrong_type, out_of_range or bad_format
  std::string message;
};
using SettingReading = std::variant<SettingValue, SettingFault>;
// Reads a value as a variable of the environment writes it, with commas between strings.
SettingReading read_setting(const SettingRow& row, std::string_view text);
// Reads a value as a client or a row of the database writes it.
SettingReading read_setting(const SettingRow& row, const Json& json);

std::string setting_json(const SettingValue& value);
// For people: "integer, 10 to 86400 seconds", "one of open, invite_only, disabled".
std::string setting_form(const SettingRow& row);
// HOSTLER_AUTH_REGISTRATION_MODE
std::string setting_variable(const SettingRow& row);
// The name that differs least from what somebody wrote, when it is near enough to be meant.
std::optional<std::string_view> nearest_setting(std::string_view written);
// Returns the public part of a connection URL or string: everything except its password.
std::string without_password(std::string_view conninfo);

}  // namespace hostler::config
