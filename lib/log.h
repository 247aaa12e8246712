// One event per line on stderr, as a JSON object: time, level, event, then the named fields. When
// stderr is the journal of systemd, the event goes there with a field each: trace_id is
// HOSTLER_TRACE_ID. Never log a secret, a token or a body.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace hostler {

enum class LogLevel { debug, info, warning, error };

// The level of this name; of an unknown one, info.
LogLevel log_level_named(std::string_view name);

using LogField = std::pair<std::string_view, std::string>;

// Set once by main(): the program's name stands in every line; lines below the level are dropped.
// Finds out whether stderr is the journal.
void log_as(std::string program, LogLevel min);
// From here on to the journal that listens there (systemd's native protocol); false, and stderr as
// before, when nobody does.
bool log_to_journal(const std::string& socket_path);

// Whether such lines are written: for callers to whom making the fields is work.
bool log_takes(LogLevel level);

void log_line(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {});

inline void log_debug(std::string_view event, std::initializer_list<LogField> fields = {}) {
  log_line(LogLevel::debug, event, fields);
}
inline void log_info(std::string_view event, std::initializer_list<LogField> fields = {}) {
  log_line(LogLevel::info, event, fields);
}
inline void log_warning(std::string_view event, std::initializer_list<LogField> fields = {}) {
  log_line(LogLevel::warning, event, fields);
}
inline void log_error(std::string_view event, std::initializer_list<LogField> fields = {}) {
  log_line(LogLevel::error, event, fields);
}

}  // namespace hostler
