// See fcgi/identity/caller_database.h.
#include "fcgi/identity/caller_database.h"

#include "fcgi/http/api_metrics.h"
#include "fcgi/identity/authentication.h"
#include "queries/access.h"

namespace hostler {

Task<postgres::Result> CallerDatabase::query(postgres::BoundStatement query) {
  postgres::Batch statements;
  statements.add(std::move(query));
  postgres::Batch nothing;
  postgres::Results results = co_await batch(std::move(statements), std::move(nothing));
  co_return std::move(results.front());
}

Task<postgres::Result> CallerDatabase::query_and_notify(postgres::BoundStatement query,
                                                        postgres::BoundStatement notification) {
  postgres::Batch statements;
  statements.add(std::move(query));
  postgres::Batch notifications;
  notifications.add(std::move(notification));
  postgres::Results results = co_await batch(std::move(statements), std::move(notifications));
  co_return std::move(results.front());
}

Task<postgres::Result> CallerDatabase::query_apart(postgres::BoundStatement query) {
  postgres::Batch batch;
  batch.add(entry(request_, caller_, login_hmac_));
  batch.add(query::CommitLightly{}).add(std::move(query));
  postgres::Results results = co_await database_.pipelined(std::move(batch));
  co_return std::move(results.back());
}

Task<postgres::Results> DirectDatabase::batch(postgres::Batch statements,
                                              postgres::Batch notifications) {
  const Route& route = request_.routed.route;
  Asks asks = asks_of(route);
  postgres::Batch batch;
  size_t preface = route.sending.tells_who_acts ? 1 : 0;
  if (caller_ != nullptr && asks == Asks::writing) {
    batch.add(authentication_again(request_, *caller_, asks, login_hmac_));
  } else if (preface > 0) {
    batch.add(entry(request_, caller_, login_hmac_));
  }
  batch.add(std::move(statements));
  bool is_pipelined = route.sending.is_pipelined;
  metrics_.count(metric_batches, is_pipelined ? 0 : 1);
  Task<postgres::BatchOutcome> sent =
      is_pipelined ? database_.attempt_pipelined(std::move(batch))
                   : database_.attempt(std::move(batch), std::move(notifications),
                                       durability_of(route), party_);
  postgres::BatchOutcome outcome = co_await sent;
  if (outcome.error) throw *outcome.error;
  auto first = outcome.results.begin();
  outcome.results.erase(first, first + static_cast<std::ptrdiff_t>(preface));
  co_return std::move(outcome.results);
}

// The caller stays admitted until the commit: the first batch locks its user (authenticate()).
Task<void> DirectDatabase::batches(NextBatch next) {
  const Route& route = request_.routed.route;
  metrics_.count(metric_batches, 1);
  postgres::Transaction transaction = co_await database_.begin(durability_of(route), party_);
  postgres::Results results;
  for (bool is_first = true;; is_first = false) {
    postgres::Batch statements = next(results);
    if (statements.empty()) break;
    postgres::Batch batch;
    if (is_first) {
      batch.add(authentication_again(request_, *caller_, Asks::writing, login_hmac_));
    }
    batch.add(std::move(statements));
    results = co_await transaction.run(std::move(batch));
    if (is_first) results.erase(results.begin());
  }
  co_await transaction.commit();
}

void DirectDatabase::notify(postgres::BoundStatement notification) {
  postgres::Batch batch;
  batch.add(std::move(notification));
  background_.send(std::move(batch), BackgroundQueue::Kind::notification);
}

Task<postgres::Results> TransactionDatabase::batch(postgres::Batch statements,
                                                   postgres::Batch notifications) {
  notifications_.add(std::move(notifications));
  postgres::Batch batch;
  batch.add(entry(request_, caller_, login_hmac_)).add(std::move(statements));
  postgres::Results results = co_await transaction_.run(std::move(batch));
  results.erase(results.begin());
  co_return results;
}

Task<void> TransactionDatabase::batches(NextBatch next) {
  postgres::Results results;
  for (;;) {
    postgres::Batch statements = next(results);
    if (statements.empty()) co_return;
    postgres::Batch nothing;
    results = co_await batch(std::move(statements), std::move(nothing));
  }
}

void TransactionDatabase::notify(postgres::BoundStatement notification) {
  notifications_.add(std::move(notification));
}

}  // namespace hostler
