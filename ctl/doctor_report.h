// The doctor's findings about each part of an installation, gathered. For ctl/doctor.cpp.
#pragma once

#include "lib/config/secret_box.h"
#include "lib/config/settings.h"
#include "lib/health/report.h"
#include "lib/postgres/session.h"

namespace hostler {

using DoctorReport = health::Report;
using health::Finding;
using health::Verdict;

// Report of the server about itself: lib/health/database_health.h.
// ctl/doctor_cluster.cpp: the hosts that database.url names, if there are several: which one leads,
// which follow it, and their lag.
void look_at_cluster(const config::Settings& settings, DoctorReport& report);
// Whether the volume of the data takes anything.
void look_at_disk(postgres::DbSession& session, DoctorReport& report);
// ctl/doctor_collations.cpp: whether an upgrade changed the order that indexes were built in.
void look_at_collations(postgres::DbSession& session, DoctorReport& report);
// ctl/doctor_maintenance.cpp: who does the periodic jobs, and which of them fail or are late.
void look_at_maintenance(postgres::DbSession& session, DoctorReport& report);
// ctl/doctor_sockets.cpp: who takes connections, and whether the daemon answers on its way out.
void look_at_sockets(const config::Settings& settings, DoctorReport& report);
// ctl/doctor_settings.cpp: whether the services may read the files of settings.
void look_at_settings_files(DoctorReport& report);
// ctl/doctor_host.cpp: the sockets, nginx as it runs, certificates, disk, file limits, ports, the
// access log.
void look_at_host(const config::Settings& settings, DoctorReport& report);
// ctl/doctor_mail.cpp: a connection to the mail server, with login, but no mail. in_force: with
// what administrators stored. box: null when the key file cannot be used.
void look_at_mail(const config::Settings& in_force, const config::SecretBox* box,
                  postgres::DbSession& session, DoctorReport& report);

}  // namespace hostler
