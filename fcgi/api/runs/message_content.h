// The text that a user says, as requests carry it. Used by the handlers that store a message.
#pragma once

#include <string>

#include "fcgi/http/input.h"

namespace hostler {

// The member content, which must be there: 1 byte to 64 KiB, not blank. Faults go to those of the
// body.
std::string read_message_content(Fields& fields);

}  // namespace hostler
