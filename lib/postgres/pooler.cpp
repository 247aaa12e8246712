// How transactions of one connection are found at several servers; see lib/postgres/pooler.h.
//
// Postgres tells each client the number of the process that serves it. A pooler makes one up, so
// the process itself is asked too: only where both differ the rest is done. The first connection
// asks for the process several times, each time in a transaction of its own. Then a second one
// holds a transaction open and the first asks again. Where transactions are pooled the second one
// gets the server that the first has just left, or, where servers are taken in turn, the first one
// gets others. Where sessions are pooled neither ever happens. A pooler of statements ends the
// second one instead.
#include "lib/postgres/pooler.h"

#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "lib/log.h"
#include "lib/loop/wait.h"
#include "lib/postgres/connection.h"
#include "queries/commits.h"

namespace hostler::postgres {
namespace {

constexpr int64_t limit_ms = 10'000;
constexpr int64_t retry_ms = 1'000;
constexpr int exit_bad_configuration = 78;  // sysexits.h: EX_CONFIG
constexpr int questions = 4;                // of the first connection alone
constexpr int rounds = 3;                   // with a second one
// Times that the second one loses its connection by a transaction while the first one lives on: a
// pooler of statements refuses transactions so.
constexpr int cut_off_max = 2;

// Which server process does a transaction of this connection; nothing when it does not answer.
Task<std::optional<int64_t>> server_of(PgConnection& connection, bool stays_open) {
  if (!connection.ready()) co_return std::nullopt;
  std::shared_ptr<BatchCall> call =
      stays_open ? connection.send_plain({"BEGIN", query::server_process.text})
                 : connection.send_plain(query::server_process.text);
  CallAwaiter awaiter(call);
  co_await awaiter;
  if (call->error) co_return std::nullopt;
  co_return call->results.back().front().integer("server_pid");
}

Task<bool> until_ready(PgConnection& connection) {
  connection.connect();
  if (connection.ready()) co_return true;
  co_await connection.changed().wait();
  co_return connection.ready();
}

Task<Pooling> examine(PgConnection& first, PgConnection& second) {
  bool is_ready = co_await until_ready(first);
  if (!is_ready) co_return Pooling::unknown;
  std::optional<int64_t> server = co_await server_of(first, false);
  if (!server) co_return Pooling::unknown;
  if (!first.is_pooled()) co_return Pooling::none;
  for (int i = 1; i < questions; ++i) {
    std::optional<int64_t> again = co_await server_of(first, false);
    if (!again) co_return Pooling::unknown;
    if (again != server) co_return Pooling::transactions;
  }
  int cut_off = 0;
  for (int i = 0; i < rounds; ++i) {
    bool is_second_ready = co_await until_ready(second);
    if (!is_second_ready) co_return Pooling::unknown;
    std::optional<int64_t> other = co_await server_of(second, true);
    std::optional<int64_t> again = co_await server_of(first, false);
    if (!again) co_return Pooling::unknown;
    if (other == server || again != server) co_return Pooling::transactions;
    if (!other && ++cut_off == cut_off_max) co_return Pooling::transactions;
    if (second.ready()) second.send_plain("ROLLBACK");
  }
  co_return cut_off == 0 ? Pooling::sessions : Pooling::unknown;
}

}  // namespace

const char* const transaction_pooling_fault =
    "a pooler in front of Postgres gives each transaction another server, as PgBouncer does with "
    "pool_mode = transaction. Hostler needs sessions, because settings, LISTEN and prepared "
    "statements belong to one. Set pool_mode = session for this database, or let database.url name "
    "Postgres itself";

Task<Pooling> pooling_of(loop::Loop& loop, const DatabaseOptions& options) {
  PgConnection first(loop, options);
  PgConnection second(loop, options);
  Task<Pooling> examination = examine(first, second);
  std::optional<Pooling> found =
      co_await loop::with_timeout(loop, std::move(examination), limit_ms);
  // A connection that goes on in here must not end in here.
  co_await loop::sleep_ms(loop, 0);
  co_return found.value_or(Pooling::unknown);
}

Pooling pooling_of(const DatabaseOptions& options) {
  loop::Loop loop;
  std::optional<Pooling> found;
  bool is_running = false;  // a stop before the start would end the loop's next run
  auto look = [](loop::Loop& on, const DatabaseOptions& given, std::optional<Pooling>& answer,
                 const bool& running) -> Task<void> {
    Pooling pooling = co_await pooling_of(on, given);
    answer = pooling;
    if (running) on.stop();
  };
  Task<void> whole = look(loop, options, found, is_running);
  whole.start(nullptr);
  is_running = true;
  if (!found) loop.run();
  return found.value_or(Pooling::unknown);
}

Task<void> refuse_transaction_pooling(loop::Loop& loop, DatabaseOptions options) {
  for (;;) {
    Pooling found = co_await pooling_of(loop, options);
    if (found == Pooling::transactions) {
      log_error("database_pooler_refused", {{"cause", transaction_pooling_fault}});
      std::_Exit(exit_bad_configuration);
    }
    if (found != Pooling::unknown) co_return;
    co_await loop::sleep_ms(loop, retry_ms);
  }
}

}  // namespace hostler::postgres
