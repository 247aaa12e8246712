// Looks at an installation as its operator would and says what is wrong, with the mend. Called by
// ctl/main.cpp on the host of the programs. Changes nothing.
#pragma once

#include "lib/settings.h"

namespace hostler {

// Prints a line a finding. Returns 0 when nothing fails; warnings are no failure.
int run_doctor(const Settings& settings, bool as_json);

}  // namespace hostler
