// See ctl/cors_map.h.
#include "ctl/cors_map.h"

#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "ctl/setup_steps.h"

namespace hostler {
namespace {

constexpr const char* site_problems = "/etc/nginx/hostler/problems.conf";
constexpr const char* map_file = "/etc/nginx/hostler/cors_origins.map";

std::string content_of(const char* path) {
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

}  // namespace

std::string cors_map(std::span<const std::string> origins) {
  std::string lines;
  for (const std::string& origin : origins) lines += fmt::format("\"{0}\" \"{0}\";\n", origin);
  return lines;
}

void look_at_cors_map(const config::Settings& in_force, DoctorReport& report) {
  if (!file_exists(site_problems)) return;
  if (content_of(map_file) == cors_map(in_force.strings("http.cors_origins"))) {
    report.well("cors", "nginx has the origins of http.cors_origins");
    return;
  }
  report.warn("cors", fmt::format("nginx' own errors do not reach the pages of http.cors_origins: "
                                  "hostlerctl cors-map > {} && systemctl reload nginx",
                                  map_file));
}

}  // namespace hostler
