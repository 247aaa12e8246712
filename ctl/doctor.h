// Looks at an installation as its operator would and says what is wrong, with the mend. On the
// host of the programs. Changes nothing.
#pragma once

#include "ctl/command_line.h"

namespace hostler {

// doctor: a line a finding. Ends with 0 when nothing fails; warnings are no failure.
void add_doctor_command(CommandLine& line);

}  // namespace hostler
