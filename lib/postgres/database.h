// Postgres on the loop: prepared statements in batches, each batch one implicit transaction, over
// two kinds of connections (ARCHITECTURE.md). libpq's types stay inside lib/postgres/*.cpp.
//
// The pipelined connection: one, in pipeline mode; the batches of all requests travel back to back,
// an error ends its own batch only. Only for reads by index, and writes that do not wait for the
// disk. Dedicated connections: up to dedicated_connections_max, each held by one batch or
// transaction at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/error.h"
#include "lib/ids.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"

struct pg_result;

namespace hostler::postgres {

// A named statement of sql/queries; the name is that of the prepared statement.
struct Statement {
  std::string_view topic;  // the file's name
  const char* name;
  const char* text;
  int params;  // how many $n it has
};

// The parameters of one statement, in order. Made by the structs of sql/queries alone, whose
// members are their names (lib/postgres/param.h).
class Params {
 public:
  struct Value {
    std::string bytes;
    bool is_null = false;
    bool is_binary = false;
  };
  Params& add(Value value);
  void reserve(size_t count);
  const std::vector<Value>& values() const { return values_; }

 private:
  std::vector<Value> values_;
};

// A statement with its parameters. query::RunShow{.run_id = id} becomes one.
struct BoundStatement {
  const Statement* statement;
  Params params;
  bool answers_binary = false;  // its rows are read as Columns (lib/postgres/columns.h), not as Row
};

class Result;

// One row of a Result, which must outlive it. Columns by name; an unknown name is our own mistake.
class Row {
 public:
  Row(const Result& result, int index) : result_(&result), index_(index) {}
  bool is_null(const char* column) const;
  std::string_view text(const char* column) const;  // null: empty
  std::optional<std::string> text_or_null(const char* column) const;
  int64_t integer(const char* column) const;  // null: 0
  double number(const char* column) const;
  bool boolean(const char* column) const;
  std::string bytes(const char* column) const;  // bytea, decoded

 private:
  const Result* result_;
  int index_;
};

class Result {
 public:
  Result() = default;
  explicit Result(pg_result* result);
  int size() const;  // rows
  bool empty() const { return size() == 0; }
  Row operator[](int index) const;
  Row front() const { return (*this)[0]; }
  // The first column of the first row: what a function answers.
  std::string_view text() const;

 private:
  friend class Row;
  friend class Columns;
  std::shared_ptr<pg_result> result_;
};

using Results = std::vector<Result>;

// Why Postgres refused a batch that would have been right at another time. It is rolled back.
enum class Refusal {
  none,
  blocked,  // somebody else holds a row or table that it wants
  too_slow  // a statement of it took longer than statement_timeout_ms
};

// Result of a batch, for callers that treat its failure like any other answer.
struct BatchOutcome {
  Results results;
  std::optional<Error> error;
  Refusal refusal = Refusal::none;
  // To be tried again; without a refusal the batch may have been committed or not.
  bool is_unknown() const {
    return error && (error->code == ErrorCode::database_unavailable ||
                     error->code == ErrorCode::database_timeout);
  }
};

// Where the result of one statement will be among those of its batch.
class Answer {
 public:
  const Result& in(const Results& results) const { return results.at(index_); }

 private:
  friend class Batch;
  explicit Answer(size_t index) : index_(index) {}
  size_t index_;
};

class Batch {
 public:
  Batch& add(BoundStatement statement);
  Batch& add(const Statement& statement);  // without parameters
  Batch& add(Batch others);
  Answer last_answer() const { return Answer(items_.size() - 1); }  // of what was added last
  bool empty() const { return items_.empty(); }
  using Item = BoundStatement;
  const std::vector<BoundStatement>& items() const { return items_; }
  std::vector<BoundStatement>& items() { return items_; }

 private:
  std::vector<BoundStatement> items_;
};

// For whom something is done: above an organization as any number of 32 bits, below a user; 0:
// nobody knows. Organizations take turns at the dedicated connections; those of one may wait for
// each other's locks. A user holds few of them, in however many organizations.
using Party = uint64_t;

// How the commit of a batch or transaction reaches the disk before its answer is given.
enum class Durability : uint8_t {
  own,     // the commit waits for the disk, with its locks held
  shared,  // beside others of its party it does not, so that its locks go earlier: one flush
           // behind them covers all (commit_flusher.h), which costs more than a single commit
  none,    // it writes nothing
};

struct DatabaseOptions {
  std::string conninfo;
  std::string application_name;
  int dedicated_connections_max = 8;
  // Key of one organization, so that its waits for locks block no other organization; 0: all. One
  // user has half of them.
  int party_connections_max = 0;
  // A batch that has no answer by then ends in database_unavailable and its connection is closed.
  int64_t answer_timeout_ms = 2500;
  int64_t statement_timeout_ms = 2400;
  // The same for the pipelined connection, whose silence is found out so soon; 0: as the others.
  int64_t pipelined_timeout_ms = 0;
  int64_t lock_timeout_ms = 2000;
  // Each statement is planned once, whatever its parameters (plan_cache_mode). For those who send
  // only look-ups by key: those of arrays or partitions are planned for each execution otherwise.
  // They go along indexes, whatever Postgres thinks of the tables' sizes.
  bool plans_once = false;
};

class PgConnection;
class Database;

// A dedicated connection held over several batches, inside BEGIN … COMMIT. Ending it without
// commit() rolls back. Movable, used by one coroutine.
class Transaction {
 public:
  Transaction(Transaction&&) noexcept = default;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Task<Results> run(Batch batch);
  Task<Result> run(BoundStatement statement);
  Task<Result> run(const Statement& statement);
  // database_unavailable: it may be committed or not.
  Task<void> commit();
  // Instead of commit(), of one that only read what others may have committed with a shared flush:
  // then that is on the disk too.
  Task<void> commit_what_was_read();
  // Waits until its locks are gone, which the destructor does not. Never throws.
  Task<void> roll_back();
  // Steps of this transaction for somebody who takes them for one of their own: their commit()
  // does nothing. Must end before this one.
  Transaction part() const;

 private:
  friend class Database;
  Transaction(Database* database, PgConnection* connection);
  struct Release {
    Database* database;  // null: a part, which releases nothing
    void operator()(PgConnection* connection) const;
  };
  struct CountDown {
    std::unordered_map<Party, int64_t>* counts;
    Party party;
    void operator()(int64_t* count) const {
      if (--*count == 0) counts->erase(party);
    }
  };
  std::unique_ptr<PgConnection, Release> connection_;
  std::unique_ptr<int64_t, CountDown> sharing_;  // null: its commit waits for the disk
  void check_session() const;
  bool open_ = false;  // to be rolled back at the end; never in a part
  int64_t session_number_ = 0;
};

class Database {
 public:
  Database(loop::Loop& loop, DatabaseOptions options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // All of the batch commits, or nothing does. Throws Error: database_unavailable if the answer
  // does not come, the code that a function raised, internal_error for other faults of a statement.
  // kept lives until the answer is here, also if the caller is gone. Otherwise the bound of batches
  // on their way would be released too early.
  Task<Results> pipelined(Batch batch, std::shared_ptr<void> kept = nullptr);
  // Like pipelined(), on a connection of its own. A serialization failure or deadlock is tried
  // again, three times in all.
  Task<Results> dedicated(Batch batch);
  Task<Result> pipelined(BoundStatement statement, std::shared_ptr<void> kept = nullptr);
  Task<Result> dedicated(BoundStatement statement);
  Task<Result> pipelined(const Statement& statement);
  Task<Result> dedicated(const Statement& statement);
  // Like dedicated() and pipelined(), but the error is part of the answer. afterwards follows in
  // the same round trip as a transaction of its own, also if the batch fails. Nobody waits for it,
  // and its fault is ignored.
  Task<BatchOutcome> attempt(Batch batch, Batch afterwards = {},
                             Durability durability = Durability::own, Party party = 0);
  Task<BatchOutcome> attempt_pipelined(Batch batch, std::shared_ptr<void> kept = nullptr);
  Task<Transaction> begin(Durability durability = Durability::own, Party party = 0);

  // The pipelined connection LISTENs. on_listening is called after each (re)connection, once the
  // LISTEN is in force: what was notified before must be looked up. Call before the first batch.
  using OnNotify = std::function<void(std::string_view channel, std::string_view payload)>;
  void listen(std::vector<std::string> channels, OnNotify on_notify,
              std::function<void()> on_listening);

  bool connected() const;  // the pipelined one
  // State of the dedicated connections: how many are in use, how many callers wait for one, how
  // many may exist.
  int64_t dedicated_busy() const;
  int64_t dedicated_waiting() const;
  int64_t dedicated_max() const;
  // Connections that came up so far, of both kinds.
  int64_t sessions_begun() const;

 private:
  friend class Transaction;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hostler::postgres
