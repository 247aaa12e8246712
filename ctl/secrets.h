// A new key for all that is stored encrypted, while everything runs.
#pragma once

#include "ctl/command_line.h"
#include "lib/config/secret_box.h"
#include "lib/postgres/database.h"

namespace hostler {

// secret rotate: puts every secret under the newest key, in small batches; their content is not
// touched. Makes that key unless a rotation was broken off or one is prepared. May be killed and
// started again at any moment: the key stands in the file before the first secret needs it, the old
// ones stay. Ends with exit_bad_input if secrets do not open, with exit_try_again while another
// rotation is under way. secret verify: whether the key file opens everything that is stored, after
// a restore; exit_bad_input if it does not. Changes nothing.
void add_secret_commands(CommandLine& line);

// Whether a key of the box's file opens it. secret: a row of secrets with id, org_id, kind,
// key_version and wrapped_key.
bool secret_opens(const config::SecretBox& box, const postgres::Row& secret);

}  // namespace hostler
