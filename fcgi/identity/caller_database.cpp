// See fcgi/identity/caller_database.h.
#include "fcgi/identity/caller_database.h"

#include "fcgi/http/api_metrics.h"
#include "fcgi/identity/authentication.h"
#include "queries/access.h"

namespace hostler {

Task<Result> CallerDatabase::query(BoundStatement query) {
  Batch statements;
  statements.add(std::move(query));
  Batch nothing;
  Results results = co_await batch(std::move(statements), std::move(nothing));
  co_return std::move(results.front());
}

Task<Result> CallerDatabase::query_and_notify(BoundStatement query, BoundStatement notification) {
  Batch statements;
  statements.add(std::move(query));
  Batch notifications;
  notifications.add(std::move(notification));
  Results results = co_await batch(std::move(statements), std::move(notifications));
  co_return std::move(results.front());
}

Task<Result> CallerDatabase::query_apart(BoundStatement query) {
  Batch batch;
  batch.add(entry(request_, caller_, login_hmac_));
  batch.add(query::CommitLightly{}).add(std::move(query));
  Results results = co_await database_.quick(std::move(batch));
  co_return std::move(results.back());
}

Task<Results> DirectDatabase::batch(Batch statements, Batch notifications) {
  const Route& route = request_.routed.route;
  Asks asks = asks_of(route);
  Batch batch;
  size_t preface = route.sending.tells_who_acts ? 1 : 0;
  if (caller_ != nullptr && asks == Asks::writing) {
    batch.add(authentication_again(request_, *caller_, asks, login_hmac_));
  } else if (preface > 0) {
    batch.add(entry(request_, caller_, login_hmac_));
  }
  batch.add(std::move(statements));
  bool is_pipelined = route.sending.is_pipelined;
  metrics_.count(metric_batches, is_pipelined ? 0 : 1);
  Task<BatchOutcome> sent = is_pipelined
                                ? database_.attempt_quick(std::move(batch))
                                : database_.attempt(std::move(batch), std::move(notifications));
  BatchOutcome outcome = co_await sent;
  if (outcome.error) throw *outcome.error;
  auto first = outcome.results.begin();
  outcome.results.erase(first, first + static_cast<std::ptrdiff_t>(preface));
  co_return std::move(outcome.results);
}

void DirectDatabase::notify(BoundStatement notification) {
  Batch batch;
  batch.add(std::move(notification));
  background_.send(std::move(batch), BackgroundQueue::Kind::notification);
}

Task<Results> TransactionDatabase::batch(Batch statements, Batch notifications) {
  notifications_.add(std::move(notifications));
  Batch batch;
  batch.add(entry(request_, caller_, login_hmac_)).add(std::move(statements));
  Results results = co_await transaction_.run(std::move(batch));
  results.erase(results.begin());
  co_return results;
}

void TransactionDatabase::notify(BoundStatement notification) {
  notifications_.add(std::move(notification));
}

}  // namespace hostler
