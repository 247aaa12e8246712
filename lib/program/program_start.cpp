// Command line and settings of a program; see lib/program/program_start.h.
#include "lib/program/program_start.h"

#include <getopt.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>

#include <fmt/format.h>

#include "lib/config/settings_load.h"
#include "lib/log.h"

namespace hostler::program {
namespace {

constexpr int exit_usage = 64;  // sysexits.h
constexpr std::string_view config_sentence = "reads FILE instead of /etc/hostler/hostler.toml";

const std::vector<ProgramFlag>& flags_of_all() {
  static const std::vector<ProgramFlag> flags = {
      {"print-config", "prints the settings in force, as a file with comments, and exits"},
      {"check-config", "prints the faults of the settings, and exits"},
      {"version", "prints the version and exits"},
      {"help", "prints this and exits"},
  };
  return flags;
}

std::string help_text(std::string_view name, std::string_view sentence,
                      const std::vector<ProgramFlag>& flags) {
  std::string out =
      fmt::format("{}: {}\n\n  {:<16} {}\n", name, sentence, "--config FILE", config_sentence);
  for (const ProgramFlag& flag : flags) {
    out += fmt::format("  {:<16} {}\n", fmt::format("--{}", flag.name), flag.sentence);
  }
  return out;
}

void print_text(std::FILE* stream, std::string_view text) { fmt::print(stream, "{}", text); }

// Returns nothing if the command line is bad; getopt has printed why.
struct CommandLine {
  std::string config;
  std::vector<std::string_view> given;
};
std::optional<CommandLine> read_command_line(int argc, char* const* argv,
                                             const std::vector<ProgramFlag>& flags) {
  std::vector<option> options;
  std::vector<std::string> names;  // getopt wants them to end in NUL
  names.reserve(flags.size());
  options.reserve(flags.size() + 2);
  for (const ProgramFlag& flag : flags) names.emplace_back(flag.name);
  for (const std::string& name : names) {
    options.push_back({name.c_str(), no_argument, nullptr, static_cast<int>(options.size()) + 1});
  }
  constexpr int config_option = 1000;
  options.push_back({"config", required_argument, nullptr, config_option});
  options.push_back({nullptr, 0, nullptr, 0});
  CommandLine line;
  optind = 1;
  for (;;) {
    int found = getopt_long(argc, argv, "", options.data(), nullptr);
    if (found == -1) break;
    if (found == '?') return std::nullopt;
    if (found == config_option) {
      line.config = optarg;
    } else {
      line.given.push_back(flags.at(static_cast<size_t>(found) - 1).name);
    }
  }
  if (optind < argc) {
    print_text(stderr,
               fmt::format("{}: unknown argument \"{}\"; try --help\n", argv[0], argv[optind]));
    return std::nullopt;
  }
  return line;
}

}  // namespace

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string own_program(std::string_view called) {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string(called);
}

void forbid_core_dumps() {
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  // A pattern that hands cores to a program passes the limit by. The leak sanitizer looks into its
  // own process in the way that this forbids.
#ifndef __SANITIZE_ADDRESS__
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

bool ProgramStart::has(std::string_view flag) const {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

ProgramStart start_program(int argc, char* const* argv, std::string_view name,
                           std::string_view sentence, std::vector<ProgramFlag> flags) {
  forbid_core_dumps();
  flags.insert(flags.end(), flags_of_all().begin(), flags_of_all().end());
  ProgramStart start;
  std::optional<CommandLine> line = read_command_line(argc, argv, flags);
  if (!line) {
    start.exit_status = exit_usage;
    return start;
  }
  start.flags = std::move(line->given);
  if (start.has("help") || start.has("version")) {
    print_text(stdout, start.has("help") ? help_text(name, sentence, flags)
                                         : fmt::format("{} {}\n", name, HOSTLER_VERSION));
    start.exit_status = 0;
    return start;
  }
  config::LoadedSettings loaded = config::load_settings(line->config, environ);
  for (const std::string& fault : loaded.faults)
    print_text(stderr, fmt::format("{}: {}\n", name, fault));
  start.settings = std::move(loaded.settings);
  if (!loaded.faults.empty()) {
    start.exit_status = config::exit_bad_configuration;
  } else if (start.has("print-config") || start.has("check-config")) {
    if (start.has("print-config")) print_text(stdout, config::print_settings(start.settings));
    start.exit_status = 0;
  }
  log_as(std::string(name), log_level_named(start.settings.text("log.level")));
  return start;
}

}  // namespace hostler::program
