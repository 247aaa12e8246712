// Stored settings above configured ones; see lib/config/live_settings.h.
#include "lib/config/live_settings.h"

#include "lib/config/stored_secret.h"
#include "lib/log.h"

namespace hostler::config {
namespace {

// The kind is ours to say, not the row's: a secret that was moved to another setting stays closed.
SettingReading read_stored(const SettingRow& row, const postgres::Row& stored,
                           const SecretBox* secrets) {
  if (row.is_secret) {
    SecretIdentity identity{std::string(stored.text("secret_id")), "", setting_secret_kind(row)};
    std::optional<std::string> plain = secrets->open(identity, stored_secret(stored));
    if (!plain) return SettingFault{"closed", "the key file does not open it"};
    return read_setting(row, *plain);
  }
  std::optional<Json> json = parse_json_or_nothing(stored.text("value"));
  if (!json) return SettingFault{"bad_json", "it has no value"};
  return read_setting(row, *json);
}

}  // namespace

std::string setting_secret_kind(const SettingRow& row) {
  return "setting:" + std::string(row.name);
}

Settings settings_with_stored(const Settings& start, const postgres::Result& rows,
                              const SecretBox* secrets) {
  Settings settings = start;
  for (int i = 0; i < rows.size(); ++i) {
    std::string key(rows[i].text("key"));
    size_t index = find_setting(key);
    if (index == setting_count || setting_rows[index].kind != SettingKind::live) {
      log_warning("setting_unknown", {{"key", key}});
      continue;
    }
    if (secrets == nullptr && setting_rows[index].is_secret) continue;
    SettingReading reading = read_stored(setting_rows[index], rows[i], secrets);
    if (const SettingFault* fault = std::get_if<SettingFault>(&reading)) {
      log_error("setting_unusable", {{"key", key}, {"why", fault->message}});
      continue;
    }
    settings.set(index, std::get<SettingValue>(std::move(reading)), SettingSource::database);
  }
  return settings;
}

LiveSettings::LiveSettings(const Settings& start)
    : start_(start), current_(std::make_shared<const Settings>(start)) {}

std::shared_ptr<const Settings> LiveSettings::current() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return current_;
}

void LiveSettings::apply(const postgres::Result& rows, const SecretBox& secrets) {
  auto settings = std::make_shared<const Settings>(settings_with_stored(start_, rows, &secrets));
  std::lock_guard<std::mutex> lock(mutex_);
  current_ = std::move(settings);
}

}  // namespace hostler::config
