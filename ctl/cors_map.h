// The origins of http.cors_origins as nginx reads them: pages of these may read what nginx itself
// answers, too. For hostlerctl cors-map and the doctor.
#pragma once

#include <span>
#include <string>

#include "ctl/command_line.h"
#include "ctl/doctor_report.h"
#include "lib/config/settings.h"

namespace hostler {

// The content of /etc/nginx/hostler/cors_origins.map.
std::string cors_map(std::span<const std::string> origins);

// Reports whether this host's nginx has the origins in force, if the site is installed here.
void look_at_cors_map(const config::Settings& in_force, DoctorReport& report);

}  // namespace hostler
