// Shared parts of the steps of hostlerctl setup: reports about findings and actions, files and
// links. Used by ctl/setup*.cpp and the doctor.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ctl/setup.h"
#include "lib/config/settings.h"

namespace hostler {

// Lines such as "nginx        would be reloaded": the step, and what it comes to.
void report_step(std::string_view step, std::string_view what);
// The same for what is made now, or would be.
void report_change(const SetupOptions& options, std::string_view step, std::string_view what);

bool file_exists(const std::string& path);
// Both return whether it worked and have told why not. The file must not exist yet.
bool write_new_file(const std::string& path, std::string_view content, unsigned mode);
bool make_link(const std::string& path, const std::string& target);
// Target of a symbolic link, or empty if path is not one.
std::string link_target(const std::string& path);
// Whether the program ended with 0; tells its words when not.
bool ran_well(const std::vector<std::string>& words);
// Whether systemd runs this host.
bool has_systemd();
// Links a file of the package beside a unit, so that upgrades bring it along, and systemd reads it.
// Returns the exit status.
int link_drop_in(const std::string& source, const std::string& folder, const std::string& path);
// Describes a copy that differs from the package, for use after its name; else empty.
std::string difference_from_package(const std::string& path, const std::string& source);

// State of the pool's unit, which has no network by itself; ctl/setup_network.cpp.
int set_up_network(const SetupOptions& options);
bool pool_needs_network(const config::Settings& settings);
bool pool_has_network();
// Like difference_from_package, for the file that gives it one.
std::string pool_network_difference();

// The parts that belong to nginx, in their order. Return the exit status.
int set_up_certificate(const SetupOptions& options);
int set_up_site(const SetupOptions& options);
int confine_nginx(const SetupOptions& options);

}  // namespace hostler
