// See lib/loop/live_settings.h.
#include "lib/loop/live_settings.h"

#include "lib/log.h"

namespace hostler {
namespace {

// The row's value as JSON text; secret ones are opened.
std::optional<Json> value_of(const Row& row, const SecretBox& secrets) {
  if (row.is_null("secret_id")) return parse_json_or_nothing(row.text("value"));
  SecretPlace place{std::string(row.text("secret_id")), "", std::string(row.text("secret_kind"))};
  SealedSecret sealed{row.integer("key_version"), row.bytes("wrapped_key"), row.bytes("sealed")};
  std::optional<std::string> plain = secrets.open(place, sealed);
  if (!plain) return std::nullopt;
  return Json(std::move(*plain));
}

void apply_row(Settings& settings, const Row& row, const SecretBox& secrets) {
  std::string key(row.text("key"));
  size_t index = find_setting(key);
  if (index == setting_count || setting_rows[index].kind != SettingKind::live) {
    log_warning("setting_unknown", {{"key", key}});
    return;
  }
  std::optional<Json> value = value_of(row, secrets);
  if (!value) {
    log_error("setting_unreadable", {{"key", key}});
    return;
  }
  SettingReading reading = read_setting(setting_rows[index], *value);
  if (const SettingFault* fault = std::get_if<SettingFault>(&reading)) {
    log_error("setting_bad", {{"key", key}, {"why", fault->message}});
    return;
  }
  settings.set(index, std::get<SettingValue>(std::move(reading)), SettingSource::database);
}

}  // namespace

LiveSettings::LiveSettings(const Settings& start)
    : start_(start), current_(std::make_shared<const Settings>(start)) {}

void LiveSettings::apply(const Result& rows, const SecretBox& secrets) {
  Settings settings = start_;
  for (int i = 0; i < rows.size(); ++i) apply_row(settings, rows[i], secrets);
  current_ = std::make_shared<const Settings>(std::move(settings));
}

}  // namespace hostler
