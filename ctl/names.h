// Logins, usernames and addresses as the libraries of this host see them. For the doctor and for
// hostlerctl user looks, which is said after an upgrade that brings another ICU.
#pragma once

#include "ctl/command_line.h"
#include "ctl/doctor_report.h"
#include "lib/postgres/session.h"

namespace hostler {

void look_at_names(postgres::DbSession& session, DoctorReport& report);

// Stores what each name looks like that another ICU, or none, has looked at, a page a transaction,
// and prints names of several users that look alike. Returns the exit status.
int refresh_looks(const CommandCall& call);

}  // namespace hostler
