// Log lines; see lib/log.h. Each line is one write, so lines of several workers never mix.
#include "lib/log.h"

#include <unistd.h>

#include <chrono>

#include "lib/json.h"
#include "lib/time_text.h"

namespace hostler {
namespace {

// Set once before threads and forks, read only afterwards.
std::string program_name = "hostler";
LogLevel level_least = LogLevel::info;

std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
  }
  return "error";
}

}  // namespace

LogLevel log_level_named(std::string_view name) {
  for (LogLevel level : {LogLevel::debug, LogLevel::warning, LogLevel::error}) {
    if (name == level_name(level)) return level;
  }
  return LogLevel::info;
}

void log_as(std::string program, LogLevel least) {
  program_name = std::move(program);
  level_least = least;
}

bool log_takes(LogLevel level) { return level >= level_least; }

void log_line(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  if (!log_takes(level)) return;
  JsonWriter line;
  line.begin_object();
  line.member("time", rfc3339_now());
  line.member("level", level_name(level));
  line.member("program", program_name);
  line.member("pid", static_cast<int64_t>(getpid()));
  line.member("event", event);
  for (const LogField& field : fields) line.member(field.first, field.second);
  line.end_object();
  std::string text = line.take();
  text += '\n';
  // A log that cannot be written must not stop the service.
  ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(written);
}

}  // namespace hostler
