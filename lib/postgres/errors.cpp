// See lib/postgres/errors.h. With the other files of lib/postgres the owner of libpq.
#include "lib/postgres/errors.h"

#include <libpq-fe.h>

#include <fmt/format.h>

#include "lib/error_reasons.h"

namespace hostler::postgres {
namespace {

// SQLSTATE of the errors that our own SQL function fail() raises: the message is code and reason,
// the hint facts, the detail whom authenticate() refused.
constexpr std::string_view raised_by_us = "HS000";

// The oldest major version that is supported: docs/support.md.
constexpr int oldest_major = 15;

}  // namespace

Error database_unavailable(const std::string& cause) {
  Error error(ErrorCode::database_unavailable, "Try again in a moment.", cause);
  error.retry_after_s = 1;
  return error;
}

std::optional<std::string> why_too_old(const PGconn* connection) {
  if (PQserverVersion(connection) >= oldest_major * 10000) return std::nullopt;
  const char* version = PQparameterStatus(connection, "server_version");
  return fmt::format(
      "the server is Postgres {}, and Hostler needs Postgres {} or newer: upgrade that cluster "
      "(pg_upgradecluster), or name a newer one",
      version == nullptr ? "of an unknown version" : version, oldest_major);
}

std::string_view result_field(const PGresult* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

Refusal refusal_of(std::string_view state) {
  if (state == "55P03" || state == "40P01") return Refusal::blocked;
  return state == "57014" ? Refusal::too_slow : Refusal::none;
}

// Meaning of a failed statement for the client. A statement that passed its time limit is reported
// as such. Connection faults, shutdowns, waits for locks and full disks count as the database's
// absence. So do libpq's own errors without a state (it found no memory for the answer). Everything
// unknown is our own mistake.
Error error_from(const PGresult* result) {
  std::string_view state = result_field(result, PG_DIAG_SQLSTATE);
  std::string_view message = result_field(result, PG_DIAG_MESSAGE_PRIMARY);
  std::string_view detail = result_field(result, PG_DIAG_MESSAGE_DETAIL);
  if (state == raised_by_us) {
    Error error = error_of_reason(message, result_field(result, PG_DIAG_MESSAGE_HINT));
    error.refused = read_identity(detail);
    return error;
  }
  std::string cause =
      fmt::format("{}: {} {} ({})", state, message, detail, result_field(result, PG_DIAG_CONTEXT));
  if (refusal_of(state) == Refusal::too_slow) {
    Error error(ErrorCode::database_timeout, "Nothing was changed. Try again in a moment.", cause);
    error.retry_after_s = 2;
    return error;
  }
  bool is_absence = state.empty() || state.starts_with("08") || state.starts_with("57P") ||
                    state == "53100" || state == "53200" || state == "53300" || state == "55P03" ||
                    state == "25006" || state == "25P03";
  if (is_absence) return database_unavailable(cause);
  return Error(ErrorCode::internal_error, {}, cause);
}

}  // namespace hostler::postgres
