// The way out of a lock-out: shows and takes away what keeps clients outside.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ctl/command_line.h"
#include "lib/postgres/database.h"

namespace hostler {

// ip-rules list, delete; gateway show, reset: what was stored is forgotten; file and environment
// count again, within a second everywhere.
void add_gateway_commands(CommandLine& line);

// Settings that keep everybody outside, or make all clients one: for the doctor. orgs_shut: the
// answer of doctor_orgs_shut.
std::vector<std::string> gateway_doubts(const config::Settings& in_force,
                                        const postgres::Row& orgs_shut);

}  // namespace hostler
