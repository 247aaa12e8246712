// The database as one request's caller sees it: every batch begins with who acts. For handlers of
// several steps; made by fcgi/answer_call.cpp. Of a call with an Idempotency-Key it is the
// transaction around the whole call (fcgi/identity/idempotency.h), which no handler notices.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "fcgi/http/admitted.h"
#include "fcgi/identity/background_queue.h"
#include "lib/account/caller.h"
#include "lib/loop/task.h"
#include "lib/metrics.h"
#include "lib/postgres/database.h"

namespace hostler {

class CallerDatabase {
 public:
  // caller: null on open routes, which act as nobody. What they refer to outlives this.
  CallerDatabase(postgres::Database& database, BackgroundQueue& background, const Admitted& request,
                 const account::Caller* caller)
      : database_(database), background_(background), request_(request), caller_(caller) {}
  virtual ~CallerDatabase() = default;
  CallerDatabase(const CallerDatabase&) = delete;
  CallerDatabase& operator=(const CallerDatabase&) = delete;

  // One batch on the route's kind of connection: who acts, then the statements, whose results are
  // answered. All of it commits, or nothing. The notifications follow the commit, not waited for.
  virtual Task<postgres::Results> batch(postgres::Batch statements,
                                        postgres::Batch notifications) = 0;
  // Wakes daemons. When a notification is lost, their next poll finds the work.
  virtual void notify(postgres::BoundStatement notification) = 0;
  // Batches of one transaction, so that a long write never is in memory as a whole: next is asked
  // for each, with the results of the one before (at first none), until it returns an empty batch.
  using NextBatch = std::function<postgres::Batch(const postgres::Results& before)>;
  virtual Task<void> batches(NextBatch next) = 0;

  Task<postgres::Result> query(postgres::BoundStatement query);
  Task<postgres::Result> query_and_notify(postgres::BoundStatement query,
                                          postgres::BoundStatement notification);
  // Commits by itself whatever becomes of the call, without waiting for the disk: for counters of
  // tries, which a call with an Idempotency-Key would take back when it fails.
  Task<postgres::Result> query_apart(postgres::BoundStatement query);

  // The login that somebody gave, so hashed that nobody without the key file can tell which it was:
  // the statements from here on write it to the audit log.
  void set_login_hmac(std::string hmac) { login_hmac_ = std::move(hmac); }

 protected:
  postgres::Database& database_;
  BackgroundQueue& background_;
  const Admitted& request_;
  const account::Caller* caller_;
  std::string login_hmac_;
};

// Each batch is a transaction of its own.
class DirectDatabase final : public CallerDatabase {
 public:
  DirectDatabase(postgres::Database& database, BackgroundQueue& background, MetricsWriter metrics,
                 const Admitted& request, const account::Caller* caller, postgres::Party party)
      : CallerDatabase(database, background, request, caller), metrics_(metrics), party_(party) {}
  Task<postgres::Results> batch(postgres::Batch statements, postgres::Batch notifications) override;
  void notify(postgres::BoundStatement notification) override;
  Task<void> batches(NextBatch next) override;

 private:
  MetricsWriter metrics_;
  postgres::Party party_;
};

// Everything is part of one transaction, which holds the caller and is committed by somebody else.
class TransactionDatabase final : public CallerDatabase {
 public:
  TransactionDatabase(postgres::Database& database, BackgroundQueue& background,
                      postgres::Transaction& transaction, const Admitted& request,
                      const account::Caller& caller)
      : CallerDatabase(database, background, request, &caller), transaction_(transaction) {}
  Task<postgres::Results> batch(postgres::Batch statements, postgres::Batch notifications) override;
  void notify(postgres::BoundStatement notification) override;
  Task<void> batches(NextBatch next) override;
  // Requested notifications, to be sent after the commit.
  postgres::Batch take_notifications() { return std::exchange(notifications_, {}); }

 private:
  postgres::Transaction& transaction_;
  postgres::Batch notifications_;
};

}  // namespace hostler
