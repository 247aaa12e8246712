// hostlerctl: the operator's command line. Sets up the database, applies migrations, makes users
// and administrators, shows organizations, ends sessions and keys, mends the outbox, verifies the
// ledger, follows runs, shows and checks the settings. Talks to Postgres directly, never over HTTP,
// as a superuser or a member of hostler_owner (database.url). Exit status: 0, or as in sysexits.h.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "ctl/admin.h"
#include "ctl/backup.h"
#include "ctl/budgets.h"
#include "ctl/command_line.h"
#include "ctl/completion.h"
#include "ctl/doctor.h"
#include "ctl/gateway.h"
#include "ctl/identities.h"
#include "ctl/ledger.h"
#include "ctl/maintenance.h"
#include "ctl/migrate.h"
#include "ctl/outbox.h"
#include "ctl/output.h"
#include "ctl/plans_and_flags.h"
#include "ctl/privacy.h"
#include "ctl/run_tail.h"
#include "ctl/secrets.h"
#include "ctl/setup.h"
#include "ctl/setup_database.h"
#include "ctl/show_config.h"
#include "ctl/tenants.h"
#include "ctl/users.h"
#include "lib/error.h"
#include "lib/json.h"
#include "lib/program/program_start.h"
#include "schema_version.h"

namespace hostler {
namespace {

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::database_unavailable:
      return exit_unavailable;
    case ErrorCode::overload_busy:
    case ErrorCode::database_timeout:
      return exit_try_again;
    case ErrorCode::internal_error:
      return exit_software;
    default:
      return exit_bad_input;
  }
}

// Prints what happened, which word is at fault, and how to fix it.
std::string words_of(const Error& error) {
  if (error.code == ErrorCode::overload_busy) return "something holds a lock; try again";
  // Status of an HTTP request, which does not exist here: the detail is everything.
  bool is_of_request = error.code == ErrorCode::http_bad_request && !error.detail.empty();
  if (is_of_request) return error.detail;
  std::string words(error_row(error.code).title);
  if (error.code == ErrorCode::internal_error) words = "a statement failed";
  // The detail of several faults is that of the first.
  if (error.faults.empty() && !error.detail.empty()) words += ": " + error.detail;
  for (const FieldFault& fault : error.faults) words += "\n" + fault.field + ": " + fault.message;
  return error.cause.empty() ? words : words + ": " + error.cause;
}

// A result that found no room is no success, whatever was done.
int when_printed(int status) {
  if (std::fflush(stdout) == 0) return status;
  return fail(exit_cannot_create,
              fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

int print_version(const CommandCall& call) {
  JsonWriter json;
  json.begin_object().member("version", HOSTLER_VERSION);
  json.member("schema_version", schema_version_expected).end_object();
  return answer(
      call.as_json, json.take(),
      fmt::format("hostlerctl {}, schema {}\n", HOSTLER_VERSION, schema_version_expected));
}

// The order of the help.
void add_commands(CommandLine& line) {
  add_setup_command(line);
  add_setup_database_command(line);
  add_migrate_command(line);
  add_backup_commands(line);
  add_doctor_command(line);
  add_admin_commands(line);
  add_user_commands(line);
  add_tenant_commands(line);
  add_identity_commands(line);
  add_gateway_commands(line);
  add_run_commands(line);
  add_maintenance_commands(line);
  add_outbox_commands(line);
  add_secret_commands(line);
  add_ledger_commands(line);
  add_budget_commands(line);
  add_plan_commands(line);
  add_privacy_commands(line);
  add_config_commands(line);
  add_completion_command(line);
  line.needs_no_settings(
      line.command("version", "print the versions of program and schema", print_version));
}

}  // namespace
}  // namespace hostler

int main(int argc, char** argv) {
  using namespace hostler;
  program::forbid_core_dumps();
  CommandLine line;
  try {
    add_commands(line);
    return when_printed(line.run(argc, argv));
  } catch (const Error& error) {
    return fail(status_of(error.code), words_of(error));
  } catch (const std::system_error& error) {  // a full disk below a long result; a folder's rights
    return fail(exit_cannot_create, error.what());
  } catch (const std::exception& error) {
    return fail(exit_software, error.what());
  }
}
