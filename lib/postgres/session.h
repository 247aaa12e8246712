// One connection to Postgres, statement after statement, each waited for: for hostlerctl and for
// tests. Never used by a service: it blocks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/postgres/database.h"

struct pg_conn;

namespace hostler::postgres {

// The same connection with other values, such as {"dbname", "x"} or {"user", "hostler_api"}.
// conninfo is a URL or a string of libpq; the answer is a string. Throws http_bad_request when it
// is neither.
std::string conninfo_with(const std::string& conninfo,
                          const std::vector<std::pair<std::string, std::string>>& changes);

// Why a connection cannot be had, in the server's or libpq's words; nothing when it can.
std::optional<std::string> why_no_connection(const std::string& conninfo);

// An address of a database in its two parts.
struct ParsedAddress {
  std::string without_password;  // keywords and values; empty when the address cannot be read
  std::string password;
};
ParsedAddress parse_address(const std::string& conninfo);

class DbSession {
 public:
  // database: instead of the one that conninfo names, unless empty. Waits at most 10 s. Throws
  // database_unavailable when there is no connection, or only one to a standby (unless conninfo
  // says otherwise); cause says why.
  DbSession(const std::string& conninfo, const std::string& application_name,
            const std::string& database = "");

  // Throws the code that a function of ours raised, overload_busy when a lock was not to be had in
  // time, database_unavailable when the connection is lost, else internal_error; cause has the
  // server's words.
  Result run(const BoundStatement& statement);
  Result run(const Statement& statement);  // without parameters
  // Like run, but returns nothing if the connection is lost. The session is then useless.
  std::optional<Result> run_if_connected(const BoundStatement& statement);
  // Why the statement failed, in the server's words; nothing when it did not.
  std::optional<std::string> why_refused(const BoundStatement& statement);
  // Like run, for text that is not a statement of sql/queries: a statement that was itself an
  // answer, or several at once (a migration). In a transaction only if one is open.
  Result run_text(const std::string& text);

  // conninfo, with none of its hosts but the one that this session is connected to. For what was
  // made a moment ago: another host may not have heard of it.
  std::string at_this_server(const std::string& conninfo) const;

  // Whether a pooler such as PgBouncer serves this session.
  bool is_pooled() const { return is_pooled_; }

  void begin();
  void commit();
  void rollback();

  // Called with each NOTICE and warning of the server.
  void on_notice(std::function<void(std::string_view)> action);

 private:
  void pin_settings();
  pg_result* answer_to(const BoundStatement& statement);
  Result checked(pg_result* result, std::string_view text);
  struct Close {
    void operator()(pg_conn* connection) const;
  };
  std::unique_ptr<pg_conn, Close> connection_;
  bool is_pooled_ = false;
  // On the heap, since libpq keeps its address.
  std::unique_ptr<std::function<void(std::string_view)>> on_notice_;
};

}  // namespace hostler::postgres
