// Log lines; see lib/log.h. Each line is one write, so lines of several workers never mix.
#include "lib/log.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "lib/ascii.h"
#include "lib/json.h"
#include "lib/time_text.h"

namespace hostler {
namespace {

// Set once before threads and forks, read only afterwards.
std::string program_name = "hostler";
LogLevel level_min = LogLevel::info;
int journal_fd = -1;  // connected; -1: stderr takes the lines

// systemd.exec(5): JOURNAL_STREAM names device and inode of the stream it connected.
bool stderr_is_journal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat found {};
  if (stream == nullptr || fstat(STDERR_FILENO, &found) != 0) return false;
  return fmt::format("{}:{}", found.st_dev, found.st_ino) == stream;
}

// syslog's numbers, which systemd's own tools colour and filter by.
std::string_view priority_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "7";
    case LogLevel::info:
      return "6";
    case LogLevel::warning:
      return "4";
    case LogLevel::error:
      return "3";
  }
  return "3";
}

// A field of the journal's native protocol: a value with a line end goes with its length, which
// nothing in it can break out of.
void add_field(std::string& datagram, std::string_view name, std::string_view value) {
  datagram += name;
  if (value.find('\n') == value.npos) {
    datagram += '=';
  } else {
    datagram += '\n';
    for (unsigned bit = 0; bit < 64; bit += 8) {
      datagram += static_cast<char>((uint64_t{value.size()} >> bit) & 0xFF);
    }
  }
  datagram += value;
  datagram += '\n';
}

// trace_id is HOSTLER_TRACE_ID.
std::string journal_name(std::string_view key) { return "HOSTLER_" + ascii::upper_case(key); }

// The words of an event are one line, whatever stands in them: a second could pass for an event.
std::string one_line(std::string_view text) {
  std::string line;
  for (char c : text) {
    if (c == '\n' || c == '\r') {
      line += c == '\n' ? "\\n" : "\\r";
    } else {
      line += c;
    }
  }
  return line;
}

bool send_to_journal(LogLevel level, std::string_view event,
                     std::initializer_list<LogField> fields) {
  if (journal_fd < 0) return false;
  std::string message(event);
  std::string datagram;
  add_field(datagram, "PRIORITY", priority_of(level));
  add_field(datagram, "SYSLOG_IDENTIFIER", program_name);
  add_field(datagram, "HOSTLER_EVENT", event);
  for (const LogField& field : fields) {
    message += fmt::format(" {}={}", field.first, one_line(field.second));
    add_field(datagram, journal_name(field.first), field.second);
  }
  add_field(datagram, "MESSAGE", message);
  // A journal that cannot take it now must not stop the service: the line goes to stderr then.
  return send(journal_fd, datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

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

void log_as(std::string program, LogLevel min) {
  program_name = std::move(program);
  level_min = min;
  if (stderr_is_journal()) log_to_journal("/run/systemd/journal/socket");
}

bool log_to_journal(const std::string& socket_path) {
  sockaddr_un address{};
  if (socket_path.size() >= sizeof address.sun_path) return false;
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, socket_path.data(), socket_path.size());
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(fd);
    return false;
  }
  if (journal_fd >= 0) close(journal_fd);
  journal_fd = fd;
  return true;
}

bool log_takes(LogLevel level) { return level >= level_min; }

void log_line(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  if (!log_takes(level) || send_to_journal(level, event, fields)) return;
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
