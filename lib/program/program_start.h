// How every program of Hostler begins: reads its command line and its settings, answers the
// questions that end it at once (--help, --version, --print-config, --check-config), tells faults
// on stderr. Called first by the mains of hostler-api and hostler-runner.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/config/settings.h"

namespace hostler::program {

// A further option of one program, without a value: {"routes", "prints the route table"}.
struct ProgramFlag {
  std::string_view name;
  std::string_view sentence;
};

struct ProgramStart {
  // Set when the program must end now, with this status; all that had to be said was printed.
  std::optional<int> exit_status;
  config::Settings settings;
  std::vector<std::string_view> flags;  // the ones given

  bool has(std::string_view flag) const;
};

// Name of this machine for connections and daemons.
std::string host_name();

// The path of this program as it was started; after an upgrade a new version stands there. called:
// what is answered where /proc does not say.
std::string own_program(std::string_view called);

// No crash leaves the process's memory on a disk: keys and conversations are in it. Nor may other
// programs of its user look into it.
void forbid_core_dumps();

// Also forbids core dumps, and sets the log's program name and level. Status 64: bad command line;
// 78: bad settings.
ProgramStart start_program(int argc, char* const* argv, std::string_view name,
                           std::string_view sentence, std::vector<ProgramFlag> flags = {});

}  // namespace hostler::program
