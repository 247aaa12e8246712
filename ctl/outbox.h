// Shows and mends what the outbox cannot deliver: mails and webhooks.
#pragma once

#include "ctl/command_line.h"

namespace hostler {

// outbox list, retry, drop. retry and drop end with exit_bad_input when nothing could be done.
void add_outbox_commands(CommandLine& line);

}  // namespace hostler
