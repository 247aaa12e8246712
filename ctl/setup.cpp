// The steps in their order, and those that are not nginx's; see ctl/setup.h.
#include "ctl/setup.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <optional>
#include <variant>

#include <fmt/format.h>

#include "ctl/output.h"
#include "ctl/owner_session.h"
#include "ctl/secrets.h"
#include "ctl/setup_database.h"
#include "ctl/setup_steps.h"
#include "ctl/subprocess.h"
#include "lib/config/secret_box.h"
#include "lib/config/settings_load.h"
#include "lib/crypto.h"
#include "lib/postgres/session.h"
#include "lib/program/program_start.h"
#include "queries/operator.h"

namespace hostler {
namespace {

constexpr const char* key_file = "/etc/hostler/secret.key";
constexpr size_t key_bytes = 32;

// A package makes users and folders itself; `make install` leaves them to this.
int set_up_users(const SetupOptions& options) {
  if (getpwnam("hostler_api") != nullptr && getpwnam("hostler_runner") != nullptr) {
    report_step("users", "hostler_api and hostler_runner exist");
    return exit_ok;
  }
  report_change(options, "users",
                "hostler_api and hostler_runner, with their folders in /run and /var/log");
  if (options.dry_run) return exit_ok;
  bool is_done = ran_well({"systemd-sysusers", "hostler.conf"}) &&
                 ran_well({"systemd-tmpfiles", "--create", "hostler.conf"});
  return is_done ? exit_ok : exit_software;
}

// The future database, if it already has our tables.
std::optional<postgres::DbSession> database_in_use(const SetupOptions& options) {
  bool is_here = options.superuser_url.empty();
  std::string url = postgres::conninfo_with(is_here ? "postgresql:///" : options.superuser_url,
                                            {{"dbname", options.database}});
  if (postgres::why_no_connection(url)) return std::nullopt;  // a later step makes it, or says why
  std::optional<postgres::DbSession> session;
  if (is_here) {
    session = open_as_owner(url, "hostlerctl setup").session;
  } else {
    session.emplace(url, "hostlerctl setup");
  }
  bool is_ours = session && session->run(query::SchemaTables{}).front().boolean("has_migrations");
  if (!is_ours) session.reset();
  return session;
}

// Why no key may be made for it: another one would open nothing of what it holds. Empty: one may.
std::string why_no_new_key(postgres::DbSession& database, const SetupOptions& options) {
  // Programs use it already, of other hosts or those that were here.
  bool is_of_others = !options.superuser_url.empty() &&
                      database.run(query::SetupOtherHosts{}).front().boolean("have_a_key");
  if (is_of_others) {
    return fmt::format(
        "the database is in use, and only the key of its users opens its secrets: copy their {} to "
        "here, mode 0600, owner root",
        key_file);
  }
  if (options.superuser_url.empty() && !database.run(query::DoctorSecrets{}).empty()) {
    return fmt::format(
        "{} is missing, and the database has secrets that no other key opens: put your copy of it "
        "there, mode 0600, owner root",
        key_file);
  }
  return "";
}

// A further host has one of its own from the package until somebody copies the first host's.
bool is_key_of_another(postgres::DbSession& database) {
  std::variant<config::SecretBox, std::string> box = config::SecretBox::load(key_file);
  if (std::holds_alternative<std::string>(box)) return false;  // the doctor says what is wrong
  postgres::Result secrets = database.run(query::DoctorSecrets{});
  for (int i = 0; i < secrets.size(); ++i) {
    if (secret_opens(std::get<config::SecretBox>(box), secrets[i])) return false;
  }
  return !secrets.empty();
}

int set_up_key(const SetupOptions& options) {
  std::optional<postgres::DbSession> database = database_in_use(options);
  if (file_exists(key_file)) {
    if (database && is_key_of_another(*database)) {
      return fail(
          exit_bad_input,
          fmt::format("{} opens no secret of the database, because the package makes one on each "
                      "host. Replace it by that of the other hosts, or by your copy",
                      key_file));
    }
    report_step("key file", fmt::format("{} is there", key_file));
    return exit_ok;
  }
  std::string refusal = database ? why_no_new_key(*database, options) : "";
  if (!refusal.empty()) return fail(exit_bad_input, refusal);
  report_change(options, "key file",
                fmt::format("{}; keep a copy apart from the database's backups", key_file));
  if (options.dry_run) return exit_ok;
  return write_new_file(key_file, random_bytes(key_bytes), S_IRUSR | S_IWUSR) ? exit_ok
                                                                              : exit_no_permission;
}

// On the host of Postgres its superuser is the system's user postgres, and nobody needs a password:
// so this one step is done as that user. Afterwards root, who could become postgres anyhow, has a
// role for hostlerctl.
int set_up_database_here(const SetupOptions& options) {
  std::vector<std::string> words = {"runuser",
                                    "-u",
                                    "postgres",
                                    "--",
                                    program::own_program("hostlerctl"),
                                    "--config",
                                    "/dev/null",
                                    "setup-database",
                                    "--superuser-url",
                                    "postgresql:///postgres",
                                    "--database",
                                    options.database,
                                    "--migrate",
                                    "--operator",
                                    "root"};
  if (options.dry_run) words.emplace_back("--dry-run");
  if (getpwnam("postgres") == nullptr) {
    return fail(
        exit_unavailable,
        "no Postgres here (no user postgres): install it, or name one with --superuser-url");
  }
  if (geteuid() != 0) {  // of a dry run
    report_step("database", "only root can check this: repeat it as root");
    return exit_ok;
  }
  SubprocessRun run = run_subprocess(words, false);
  // Exit codes of hostlerctl are those of sysexits.h; the others are runuser's.
  bool is_of_hostlerctl = run.status >= exit_usage && run.status <= config::exit_bad_configuration;
  if (run.status == exit_ok || is_of_hostlerctl) return run.status;
  return fail(exit_software, "runuser is missing, or cannot call hostlerctl as user postgres");
}

int set_up_database(const SetupOptions& options) {
  report_step("database", options.superuser_url.empty() ? "in the Postgres of this host"
                                                        : "in the Postgres of --superuser-url");
  if (options.superuser_url.empty()) return set_up_database_here(options);
  return setup_database({.superuser_url = options.superuser_url,
                         .database = options.database,
                         .operator_role = "",
                         .applies_migrations = true,
                         .dry_run = options.dry_run});
}

int enable_target(const SetupOptions& options) {
  if (!options.enables) {
    report_step("services", "left as they are; systemctl enable --now hostler.target starts them");
    return exit_ok;
  }
  report_change(options, "services", "hostler.target enabled and started");
  if (options.dry_run) return exit_ok;
  if (!has_systemd()) return fail(exit_unavailable, "--enable needs a host that systemd runs");
  // The target wants all the others; they may have failed before the database was there.
  bool is_done = ran_well({"systemctl", "enable", "--quiet", "hostler.target"}) &&
                 ran_well({"systemctl", "start", "hostler.target"});
  return is_done ? exit_ok : exit_software;
}

int set_up_nginx(const SetupOptions& options) {
  if (options.without_nginx) {
    report_step("nginx", "left alone, as asked");
    return exit_ok;
  }
  int status = options.confines_nginx ? confine_nginx(options) : exit_ok;
  return status == exit_ok ? set_up_site(options) : status;
}

}  // namespace

void report_step(std::string_view step, std::string_view what) {
  print_out(fmt::format("{:<12} {}\n", step, what));
  std::fflush(stdout);  // what a child says comes after it
}

void report_change(const SetupOptions& options, std::string_view step, std::string_view what) {
  report_step(step, fmt::format("{}: {}", options.dry_run ? "to do" : "doing", what));
}

bool file_exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

bool write_new_file(const std::string& path, std::string_view content, unsigned mode) {
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  bool is_whole =
      fd >= 0 && fchmod(fd, mode) == 0 &&
      write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size()) &&
      fsync(fd) == 0;
  int cause = errno;
  if (fd >= 0) close(fd);
  if (is_whole) return true;
  if (fd >= 0) unlink(path.c_str());
  fail(exit_no_permission, fmt::format("{}: {}", path, strerror(cause)));
  return false;
}

bool make_link(const std::string& path, const std::string& target) {
  if (symlink(target.c_str(), path.c_str()) == 0) return true;
  fail(exit_no_permission, fmt::format("{}: {}", path, strerror(errno)));
  return false;
}

std::string link_target(const std::string& path) {
  char target[PATH_MAX];
  ssize_t length = readlink(path.c_str(), target, sizeof target);
  return length > 0 ? std::string(target, static_cast<size_t>(length)) : "";
}

bool ran_well(const std::vector<std::string>& words) {
  SubprocessRun run = run_subprocess(words, false);
  if (run.status == 0) return true;
  fail(exit_software, fmt::format("{} {} failed with status {}", words[0],
                                  words.size() > 1 ? words[1] : "", run.status));
  return false;
}

bool has_systemd() { return file_exists("/run/systemd/system"); }

int set_up(const SetupOptions& options) {
  if (geteuid() != 0 && !options.dry_run) {
    return fail(exit_no_permission, "setup writes below /etc: run it as root, or with --dry-run");
  }
  if (options.certificate.empty() != options.certificate_key.empty()) {
    return fail(exit_usage, "--certificate and --certificate-key go together");
  }
  int status = set_up_users(options);
  if (status == exit_ok) status = set_up_key(options);
  if (status == exit_ok && !options.without_nginx) status = set_up_certificate(options);
  if (status == exit_ok) status = set_up_database(options);
  if (status == exit_ok) status = set_up_network(options);
  if (status == exit_ok) status = enable_target(options);
  if (status == exit_ok) status = set_up_nginx(options);
  if (status == exit_ok && !options.dry_run) {
    report_step("next",
                "hostlerctl doctor; then hostlerctl admin create makes the first administrator");
  }
  return status;
}

void add_setup_command(CommandLine& line) {
  auto options = std::make_shared<SetupOptions>();
  CommandWord command = line.command(
      "setup", "prepare this host: key file, database, certificate, nginx; may be repeated",
      [options](const CommandCall&) { return set_up(*options); });
  line.needs_no_settings(command);
  command
      .add_option("--superuser-url", options->superuser_url,
                  "connection URL of a superuser; default: the Postgres here, as user postgres")
      .type_name("URL");
  command.add_option("--database", options->database, "the database")
      .type_name("NAME")
      .shows_default();
  CommandOption certificate = command.add_option("--certificate", options->certificate,
                                                 "link nginx to this certificate chain, PEM");
  certificate.type_name("FILE");
  command.add_option("--certificate-key", options->certificate_key, "link nginx to its key")
      .type_name("FILE");
  command.add_option("--self-signed", options->self_signed, "make a certificate for this host name")
      .type_name("NAME")
      .excludes(certificate);
  command.add_flag("--without-nginx", options->without_nginx, "leave nginx alone");
  command.add_flag("--confine-nginx", options->confines_nginx,
                   "let systemd take unneeded rights from nginx");
  command.add_flag("--enable", options->enables, "also start the services, now and at boot");
  command.add_flag("--dry-run", options->dry_run, "only print what would be done");
}

}  // namespace hostler
