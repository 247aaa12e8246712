// Maintenance of deletions, done now: the ten minutes that threads and responses wait are over.
#pragma once

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {

// Erases what is due, empties threads and responses, forgets runs, until nothing is left. Runs of
// deleted things must have ended.
void erase_all(ApiStack& stack);
// Returns what a dump of the stack's database says beside the text, some of each line; nothing: it
// is not in there. By the real pg_dump.
std::string found_in_dump(ApiStack& stack, const std::string& text);

}  // namespace hostler::testing_support
