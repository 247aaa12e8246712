// The waiting connection; see lib/postgres/session.h. With the other files of lib/postgres the
// owner of libpq.
#include "lib/postgres/session.h"
#include "lib/postgres/errors.h"
#include "lib/postgres/session_settings.h"
#include "lib/utf8.h"

#include <libpq-fe.h>

#include <array>
#include <cassert>
#include <charconv>
#include <memory>
#include <vector>

#include <fmt/format.h>

namespace hostler::postgres {
namespace {

std::string without_line_end(const char* text) {
  std::string line = text;
  while (line.ends_with('\n')) line.pop_back();
  return line;
}

// The line of the text that the server points at, counted from 1; 0 when it points nowhere.
// Positions are counted in characters.
int64_t line_of(const PGresult* result, std::string_view text) {
  std::string_view position = result_field(result, PG_DIAG_STATEMENT_POSITION);
  int64_t characters = 0;
  std::from_chars(position.data(), position.data() + position.size(), characters);
  if (characters == 0) return 0;
  int64_t line = 1;
  for (char c : text) {
    if (begins_character(c)) --characters;
    if (characters <= 0) break;
    if (c == '\n') ++line;
  }
  return line;
}

std::string words_of(const PGresult* result, std::string_view text) {
  std::string words(result_field(result, PG_DIAG_MESSAGE_PRIMARY));
  constexpr std::array<int, 3> further{PG_DIAG_MESSAGE_DETAIL, PG_DIAG_MESSAGE_HINT,
                                       PG_DIAG_CONTEXT};
  for (int code : further) {
    std::string_view more = result_field(result, code);
    if (!more.empty()) words.append("\n  ").append(more);
  }
  int64_t line = line_of(result, text);
  return line == 0 ? words : fmt::format("line {}: {}", line, words);
}

}  // namespace

ParsedAddress parse_address(const std::string& conninfo) {
  std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parts(
      PQconninfoParse(conninfo.c_str(), nullptr), &PQconninfoFree);
  ParsedAddress parsed;
  for (const PQconninfoOption* part = parts.get(); part != nullptr && part->keyword != nullptr;
       ++part) {
    if (part->val == nullptr) continue;
    if (std::string_view(part->keyword) == "password") {
      parsed.password = part->val;
      continue;
    }
    std::string quoted;
    for (char c : std::string_view(part->val)) {
      if (c == '\'' || c == '\\') quoted += '\\';
      quoted += c;
    }
    parsed.without_password += fmt::format("{}='{}' ", part->keyword, quoted);
  }
  return parsed;
}

std::string conninfo_with(const std::string& conninfo,
                          const std::vector<std::pair<std::string, std::string>>& changes) {
  char* fault = nullptr;
  std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> options(
      PQconninfoParse(conninfo.c_str(), &fault), &PQconninfoFree);
  std::unique_ptr<char, void (*)(void*)> owned(fault, &PQfreemem);
  if (!options) {
    throw Error(ErrorCode::http_bad_request,
                fmt::format("not a connection URL or string of libpq: {}",
                            fault == nullptr ? "" : without_line_end(fault)));
  }
  std::string text;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    std::string value = option->val == nullptr ? "" : option->val;
    for (const auto& [keyword, changed] : changes) {
      if (keyword == option->keyword) value = changed;
    }
    if (value.empty()) continue;
    text += fmt::format("{}{}='", text.empty() ? "" : " ", option->keyword);
    for (char c : value) {
      if (c == '\'' || c == '\\') text += '\\';
      text += c;
    }
    text += '\'';
  }
  return text;
}

std::optional<std::string> why_no_connection(const std::string& conninfo) {
  std::array<const char*, 4> names{"connect_timeout", "target_session_attrs", "dbname", nullptr};
  std::array<const char*, 4> values{"10", "primary", conninfo.c_str(), nullptr};
  std::unique_ptr<pg_conn, void (*)(pg_conn*)> connection(
      PQconnectdbParams(names.data(), values.data(), 1), &PQfinish);
  if (PQstatus(connection.get()) == CONNECTION_OK) return why_too_old(connection.get());
  return without_line_end(PQerrorMessage(connection.get()));
}

void DbSession::Close::operator()(pg_conn* connection) const { PQfinish(connection); }

DbSession::DbSession(const std::string& conninfo, const std::string& application_name,
                     const std::string& database)
    : on_notice_(std::make_unique<std::function<void(std::string_view)>>()) {
  std::string whole = database.empty() ? conninfo : conninfo_with(conninfo, {{"dbname", database}});
  // Settings before dbname give way to those of the operator.
  std::array<const char*, 5> names{"connect_timeout", "target_session_attrs", "dbname",
                                   "application_name", nullptr};
  std::array<const char*, 5> values{"10", "primary", whole.c_str(), application_name.c_str(),
                                    nullptr};
  connection_.reset(PQconnectdbParams(names.data(), values.data(), 1));
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    throw Error(ErrorCode::database_unavailable, {},
                without_line_end(PQerrorMessage(connection_.get())));
  }
  if (std::optional<std::string> why = why_too_old(connection_.get())) {
    throw Error(ErrorCode::database_unavailable, {}, *why);
  }
  PQsetNoticeReceiver(
      connection_.get(),
      [](void* action, const PGresult* notice) noexcept {
        auto& on_notice = *static_cast<std::function<void(std::string_view)>*>(action);
        if (on_notice) on_notice(result_field(notice, PG_DIAG_MESSAGE_PRIMARY));
      },
      on_notice_.get());
  pin_settings();
}

// Without limits in time: those that a server has for services would end what takes long here, a
// migration, a backup, the look at the ledger.
void DbSession::pin_settings() {
  pg_conn* connection = connection_.get();
  PQenterPipelineMode(connection);
  bool is_sent =
      send_pinned_settings(connection, {.takes_notices = true}) && PQpipelineSync(connection) == 1;
  Results results;
  std::string fault;
  for (bool is_over = !is_sent; !is_over;) {
    pg_result* raw = PQgetResult(connection);
    if (raw == nullptr) {  // between two statements, unless the connection is lost
      is_over = PQstatus(connection) != CONNECTION_OK;
      continue;
    }
    Result result(raw);
    ExecStatusType status = PQresultStatus(raw);
    is_over = status == PGRES_PIPELINE_SYNC;
    if (status == PGRES_FATAL_ERROR) fault = without_line_end(PQresultErrorMessage(raw));
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) results.push_back(result);
  }
  if (results.size() != pinning_statements) {
    if (fault.empty()) fault = without_line_end(PQerrorMessage(connection));
    throw Error(ErrorCode::database_unavailable, {}, "settings of the session: " + fault);
  }
  PQexitPipelineMode(connection);
  is_pooled_ = hostler::postgres::is_pooled(connection, results);
}

void DbSession::on_notice(std::function<void(std::string_view)> action) {
  *on_notice_ = std::move(action);
}

Result DbSession::checked(pg_result* raw, std::string_view text) {
  Result result(raw);
  ExecStatusType status = PQresultStatus(raw);
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return result;
  std::string_view state = result_field(raw, PG_DIAG_SQLSTATE);
  if (state.empty() || PQstatus(connection_.get()) != CONNECTION_OK) {
    throw Error(ErrorCode::database_unavailable, {},
                without_line_end(PQerrorMessage(connection_.get())));
  }
  Error raised = error_from(raw);
  if (state == "HS000" && raised.code != ErrorCode::internal_error) throw raised;
  if (state == "22021") {  // words of a command line may be any bytes
    throw Error(ErrorCode::http_bad_request, "the input is not UTF-8");
  }
  bool is_locked_out = state == "55P03" || state == "40P01";
  ErrorCode code = is_locked_out ? ErrorCode::overload_busy : ErrorCode::internal_error;
  throw Error(code, {}, words_of(raw, text));
}

pg_result* DbSession::answer_to(const BoundStatement& statement) {
  const std::vector<Params::Value>& given = statement.params.values();
  assert(static_cast<int>(given.size()) == statement.statement->params);
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
  for (const Params::Value& value : given) {
    values.push_back(value.is_null ? nullptr : value.bytes.c_str());
    lengths.push_back(static_cast<int>(value.bytes.size()));
    formats.push_back(value.is_binary ? 1 : 0);
  }
  return PQexecParams(connection_.get(), statement.statement->text, statement.statement->params,
                      nullptr, values.data(), lengths.data(), formats.data(),
                      statement.answers_binary ? 1 : 0);
}

Result DbSession::run(const BoundStatement& statement) {
  return checked(answer_to(statement), statement.statement->text);
}

Result DbSession::run(const Statement& statement) { return run(BoundStatement{&statement, {}}); }

std::optional<Result> DbSession::run_if_connected(const BoundStatement& statement) {
  pg_result* result = answer_to(statement);
  if (PQstatus(connection_.get()) == CONNECTION_OK)
    return checked(result, statement.statement->text);
  PQclear(result);
  return std::nullopt;
}

std::optional<std::string> DbSession::why_refused(const BoundStatement& statement) {
  pg_result* answer = answer_to(statement);
  Result owned(answer);
  if (PQresultStatus(answer) == PGRES_TUPLES_OK) return std::nullopt;
  return words_of(answer, statement.statement->text);
}

Result DbSession::run_text(const std::string& text) {
  return checked(PQexec(connection_.get(), text.c_str()), text);
}

std::string DbSession::at_this_server(const std::string& conninfo) const {
  return conninfo_with(conninfo, {{"host", PQhost(connection_.get())},
                                  {"hostaddr", PQhostaddr(connection_.get())},
                                  {"port", PQport(connection_.get())}});
}

void DbSession::begin() { run_text("BEGIN"); }
void DbSession::commit() { run_text("COMMIT"); }
void DbSession::rollback() { run_text("ROLLBACK"); }

}  // namespace hostler::postgres
