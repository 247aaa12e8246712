// Makes a host with the package ready to serve: key file, database, certificate, nginx's site. Each
// step looks first, does only what is missing, and says so. Called by ctl/main.cpp as root. Never
// enables or starts anything that it was not asked to.
#pragma once

#include <string>

#include "ctl/command_line.h"

namespace hostler {

struct SetupOptions {
  std::string superuser_url;  // empty: Postgres of this host, as the system's user postgres
  std::string database = "hostler";
  std::string certificate;  // PEM files; empty: what stands in /etc/ssl/hostler already
  std::string certificate_key;
  std::string self_signed;  // a host name: makes a certificate for it, when there is none
  bool without_nginx = false;
  bool confines_nginx = false;
  bool enables = false;
  bool dry_run = false;
};

// Returns the exit status of the first step that fails.
int set_up(const SetupOptions& options);
void add_setup_command(CommandLine& line);

}  // namespace hostler
