// Parts of a row in the table of settings: its kind, type, bounds and form. Included only by
// lib/config/settings_table.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hostler::config {

// start: file and environment only, read once. live: an administrator may change it while all runs.
enum class SettingKind { start, live };
enum class SettingType { text, integer, number, boolean, strings, choice };
// Form that a text, or each of the strings, must have.
enum class SettingForm {
  any,
  web_url,       // http:// or https:// with a host; empty is fine
  network,       // an address or a CIDR
  part_network,  // as network, but none wider than /8
  host,          // a host name, or an IP address without brackets; empty is fine
  origin,        // scheme://host[:port], as browsers send it
};

struct SettingRow {
  std::string_view name;  // dotted: section and member of the file
  SettingKind kind;
  SettingType type;
  std::string_view fallback;  // as an environment variable would say it
  std::string_view sentence;
  std::string_view unit = {};     // of an integer
  int64_t min = 0;                // of an integer or number
  int64_t max = 0;                // of an integer or number
  std::string_view choices = {};  // of a choice, parted by |; may begin with | for "none"
  bool is_secret = false;         // never shown; when live, stored encrypted
  SettingForm form = SettingForm::any;
};

namespace settings_table {

using enum SettingKind;
using enum SettingType;
using Name = std::string_view;

constexpr SettingRow text_row(Name name, SettingKind kind, Name fallback, Name sentence) {
  return {.name = name, .kind = kind, .type = text, .fallback = fallback, .sentence = sentence};
}
constexpr SettingRow secret_row(Name name, SettingKind kind, Name sentence) {
  SettingRow row = text_row(name, kind, "", sentence);
  row.is_secret = true;
  return row;
}
constexpr SettingRow boolean_row(Name name, SettingKind kind, Name fallback, Name sentence) {
  return {.name = name, .kind = kind, .type = boolean, .fallback = fallback, .sentence = sentence};
}
constexpr SettingRow url_row(Name name, SettingKind kind, Name fallback, Name sentence) {
  SettingRow row = text_row(name, kind, fallback, sentence);
  row.form = SettingForm::web_url;
  return row;
}
constexpr SettingRow host_row(Name name, SettingKind kind, Name fallback, Name sentence) {
  SettingRow row = text_row(name, kind, fallback, sentence);
  row.form = SettingForm::host;
  return row;
}
constexpr SettingRow strings_row(Name name, SettingKind kind, SettingForm form, Name sentence) {
  SettingRow row = text_row(name, kind, "", sentence);
  row.type = strings;
  row.form = form;
  return row;
}
constexpr SettingRow choice_row(Name name, SettingKind kind, Name fallback, Name choices,
                                Name sentence) {
  SettingRow row = text_row(name, kind, fallback, sentence);
  row.type = choice;
  row.choices = choices;
  return row;
}
struct Bounds {
  int64_t min;
  int64_t max;
};
constexpr SettingRow integer_row(Name name, SettingKind kind, Name fallback, Bounds bounds,
                                 Name unit, Name sentence) {
  SettingRow row = text_row(name, kind, fallback, sentence);
  row.type = integer;
  row.unit = unit;
  row.min = bounds.min;
  row.max = bounds.max;
  return row;
}

constexpr SettingRow number_row(Name name, SettingKind kind, Name fallback, Bounds bounds,
                                Name sentence) {
  SettingRow row = integer_row(name, kind, fallback, bounds, "", sentence);
  row.type = number;
  return row;
}

constexpr Bounds any_count{0, 1'000'000'000};
constexpr Bounds rate{1, 1'000'000};
constexpr Bounds rate_or_off{0, 1'000'000};       // 0: not counted
constexpr Bounds any_bytes{0, int64_t{1} << 50};  // 0: not counted
constexpr Bounds timeout{10, 600'000};
constexpr Bounds lifetime{1, 10 * 366 * 86'400};
constexpr Bounds some_days{1, 3650};
constexpr Bounds days_or_off{0, 3650};  // 0: for ever

}  // namespace settings_table

}  // namespace hostler::config
