// Certificate, site and confinement of nginx; see ctl/setup_steps.h.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "ctl/output.h"
#include "ctl/setup_steps.h"
#include "ctl/subprocess.h"
#include "lib/config/settings_load.h"
#include "lib/net/address_guard.h"

namespace hostler {
namespace {

constexpr const char* certificate_folder = "/etc/ssl/hostler";
constexpr const char* certificate_file = "/etc/ssl/hostler/fullchain.pem";
constexpr const char* certificate_key_file = "/etc/ssl/hostler/privkey.pem";
constexpr const char* site_file = "/etc/nginx/sites-available/hostler";
constexpr const char* site_link = "/etc/nginx/sites-enabled/hostler";
constexpr const char* site_target = "../sites-available/hostler";
constexpr const char* confinement = "/usr/share/hostler/systemd/nginx.conf";
constexpr const char* drop_in_folder = "/etc/systemd/system/nginx.service.d";
constexpr const char* drop_in = "/etc/systemd/system/nginx.service.d/hostler.conf";

constexpr const char* certificate_advice =
    "no certificate in /etc/ssl/hostler. From Let's Encrypt: certbot certonly --webroot -w "
    "/var/www/html -d NAME --deploy-hook 'systemctl reload nginx', then --certificate "
    "/etc/letsencrypt/live/NAME/fullchain.pem --certificate-key "
    "/etc/letsencrypt/live/NAME/privkey.pem. For a trial: --self-signed NAME";

int make_certificate(const SetupOptions& options) {
  report_change(
      options, "certificate",
      fmt::format("a self-signed one for {} in {}", options.self_signed, certificate_folder));
  if (options.dry_run) return exit_ok;
  mkdir(certificate_folder, S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH);
  mode_t before = umask(S_IRWXG | S_IRWXO);
  const char* kind = net::IpAddress::parse(options.self_signed) ? "IP:" : "DNS:";
  SubprocessRun run = run_subprocess(
      {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
       "-nodes", "-days", "3650", "-subj", "/CN=" + options.self_signed, "-addext",
       std::string("subjectAltName=") + kind + options.self_signed, "-keyout", certificate_key_file,
       "-out", certificate_file},
      true);
  umask(before);
  if (run.status == 0) return exit_ok;
  return fail(exit_software, fmt::format("openssl is missing, or cannot make a certificate for {}: "
                                         "give the name or address by which clients call this host",
                                         options.self_signed));
}

// A link that leads elsewhere is led here; a file of somebody's is left alone.
int link_certificate(const SetupOptions& options, const std::string& path,
                     const std::string& given) {
  // A link is read from its own folder, not from where this was said.
  const std::string target = std::filesystem::absolute(given).string();
  if (!file_exists(target)) return fail(exit_bad_input, target + " is not there");
  std::string now = link_target(path);
  if (now == target) {
    report_step("certificate", fmt::format("{} leads to {}", path, target));
    return exit_ok;
  }
  if (now.empty() && file_exists(path)) {
    return fail(exit_bad_input, path + " is not a link: remove it, or leave the option out");
  }
  report_change(options, "certificate", fmt::format("link {} to {}", path, target));
  if (options.dry_run) return exit_ok;
  mkdir(certificate_folder, S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH);
  unlink(path.c_str());
  return make_link(path, target) ? exit_ok : exit_no_permission;
}

int report_reload(const SetupOptions& options) {
  if (!has_systemd()) {
    report_change(options, "nginx", "reload");
    return options.dry_run || ran_well({"nginx", "-s", "reload"}) ? exit_ok : exit_software;
  }
  if (run_subprocess({"systemctl", "is-active", "--quiet", "nginx"}, true).status != 0) {
    report_step("nginx", "does not run; systemctl start nginx starts it");
    return exit_ok;
  }
  report_change(options, "nginx", "reload");
  return options.dry_run || ran_well({"systemctl", "reload", "nginx"}) ? exit_ok : exit_software;
}

}  // namespace

int set_up_certificate(const SetupOptions& options) {
  constexpr int is_missing = 127;
  if (run_subprocess({"nginx", "-v"}, true).status == is_missing) {
    return fail(exit_unavailable, "no nginx here: apt install nginx, or --without-nginx");
  }
  if (!options.certificate.empty()) {
    int status = link_certificate(options, certificate_file, options.certificate);
    return status == exit_ok
               ? link_certificate(options, certificate_key_file, options.certificate_key)
               : status;
  }
  if (file_exists(certificate_file) && file_exists(certificate_key_file)) {
    report_step("certificate", fmt::format("{} is there", certificate_file));
    return exit_ok;
  }
  for (const char* lone : {certificate_file, certificate_key_file}) {
    if (options.self_signed.empty() || !file_exists(lone)) continue;
    // Such as the key of a certificate that is still to come: nothing brings it back.
    return fail(
        exit_bad_input,
        fmt::format(
            "{} exists without its other half: put that beside it, or remove it, and repeat",
            lone));
  }
  if (!options.self_signed.empty()) return make_certificate(options);
  return fail(exit_bad_input, certificate_advice);
}

int set_up_site(const SetupOptions& options) {
  if (!file_exists(site_file)) {
    return fail(
        exit_bad_input,
        fmt::format("{} is missing: is nginx's part installed? --without-nginx leaves it out",
                    site_file));
  }
  bool is_linked = file_exists(site_link);
  if (is_linked) {
    report_step("site", fmt::format("{} is there", site_link));
  } else {
    report_change(options, "site", fmt::format("link {} to {}", site_link, site_target));
    if (!options.dry_run && !make_link(site_link, site_target)) return exit_no_permission;
  }
  if (options.dry_run) {
    report_step("site", "to do: nginx -t");
    return report_reload(options);
  }
  if (run_subprocess({"nginx", "-t", "-q"}, false).status != 0) {
    if (!is_linked) unlink(site_link);
    return fail(config::exit_bad_configuration,
                is_linked ? "nginx -t refuses the configuration; nothing was reloaded"
                          : "nginx -t refuses the configuration; the link is removed again");
  }
  report_step("site", "nginx -t accepts the configuration");
  return report_reload(options);
}

int confine_nginx(const SetupOptions& options) {
  if (file_exists(drop_in)) {
    report_step("confinement", fmt::format("{} is there{}", drop_in,
                                           difference_from_package(drop_in, confinement)));
    return exit_ok;
  }
  report_change(options, "confinement",
                fmt::format("link {} to {}, restart nginx", drop_in, confinement));
  if (options.dry_run) return exit_ok;
  if (!has_systemd()) return fail(exit_unavailable, "--confine-nginx needs systemd");
  int status = link_drop_in(confinement, drop_in_folder, drop_in);
  if (status != exit_ok) return status;
  return ran_well({"systemctl", "try-restart", "nginx"}) ? exit_ok : exit_software;
}

}  // namespace hostler
