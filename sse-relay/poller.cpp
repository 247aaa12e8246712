// See sse-relay/poller.h.
#include "sse-relay/poller.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>

#include "lib/log.h"
#include "queries/stream.h"
#include "sse-relay/event_pages.h"

namespace hostler::relay {
namespace {

constexpr size_t runs_at_once_max = 256;

void log_fault(const Error& fault) {
  if (fault.code == ErrorCode::database_unavailable || fault.code == ErrorCode::database_timeout) {
    return;  // told by the connection, or tried again
  }
  log_error("relay_question_failed", {{"cause", fault.cause}});
}

// A subscriber and its run: a row of the question.
struct Following {
  std::array<UuidBytes, 4> ids;  // session, key, organization, run
  net::IpAddress address;
  uint64_t order;  // equal rows have equal order
};

// The last eight bytes of our ids are random: mixed, they tell rows apart well enough to sort by.
uint64_t order_of(const std::array<UuidBytes, 4>& ids, const net::IpAddress& address) {
  uint64_t order = 0;
  memcpy(&order, address.bytes.data(), sizeof order);
  for (const UuidBytes& id : ids) {
    uint64_t tail = 0;
    memcpy(&tail, id.data() + 8, sizeof tail);
    order = (order << 13 | order >> 51) ^ tail;
  }
  return order;
}

Following row_of(const StreamClient& client) {
  const StreamReader& reader = client.reader();
  Following row{{reader.session_id, reader.api_key_id, reader.org_id, client.subscription()->id()},
                reader.address,
                0};
  row.order = order_of(row.ids, row.address);
  return row;
}

bool is_before(const Following& a, const Following& b) {
  if (a.order != b.order) return a.order < b.order;
  return std::tie(a.ids, a.address.bytes) < std::tie(b.ids, b.address.bytes);
}

bool is_same(const Following& a, const Following& b) {
  return a.order == b.order && a.ids == b.ids && a.address == b.address;
}

// Rows of the clients from one index on, up to another.
std::vector<Following> distinct_rows(const StreamClients& clients, size_t from, size_t to) {
  std::vector<Following> rows;
  rows.reserve(to - from);
  for (size_t i = from; i < to; ++i) {
    if (clients[i]->is_open()) rows.push_back(row_of(*clients[i]));
  }
  std::sort(rows.begin(), rows.end(), is_before);
  rows.erase(std::unique(rows.begin(), rows.end(), is_same), rows.end());
  return rows;
}

postgres::Batch recheck_batch(const std::vector<Following>& rows) {
  std::array<std::vector<UuidBytes>, 4> ids;
  for (size_t column = 0; column < ids.size(); ++column) {
    ids[column].reserve(rows.size());
    for (const Following& row : rows) ids[column].push_back(row.ids[column]);
  }
  std::vector<std::string> addresses;
  addresses.reserve(rows.size());
  for (const Following& row : rows) addresses.push_back(row.address.text());
  postgres::Batch batch;
  batch.add(query::StreamRecheck{.session_ids = ids[0],
                                 .api_key_ids = ids[1],
                                 .org_ids = ids[2],
                                 .run_ids = ids[3],
                                 .addresses = addresses});
  return batch;
}

void log_task_failure(const std::string& name, const std::exception_ptr& failure) {
  log_error("relay_task_failed", {{"task", name}, {"cause", loop::cause_of(failure)}});
}

}  // namespace

Poller::Poller(const StreamOptions& options, loop::Loop& loop, postgres::Database& db,
               const events::EventBus& bus, Subscriptions& subscriptions,
               const StreamClients& clients)
    : options_(options),
      loop_(loop),
      db_(db),
      bus_(bus),
      subscriptions_(subscriptions),
      clients_(clients),
      tasks_(loop, log_task_failure) {}

void Poller::start() { tasks_.add_forever("read", read_due_forever()); }

void Poller::read_soon() {
  if (is_read_announced_) return;
  is_read_announced_ = true;
  loop_.defer([this] {
    is_read_announced_ = false;
    read_due_.notify();
  });
}

void Poller::tick() {
  poll_idle_runs();
  if (subscriptions_.is_read_due()) read_soon();
  if (db_.sessions_begun() != looked_in_session_ && !tasks_.contains("stored")) {
    tasks_.add("stored", look_what_is_stored());
  }
  int64_t now_ms = loop_.now_ms();
  if (now_ms - rechecked_ms_ >= options_.recheck_every_ms && !tasks_.contains("recheck")) {
    rechecked_ms_ = now_ms;
    tasks_.add("recheck", recheck());
  }
}

// A notification may be lost, and its sender may be dead.
void Poller::poll_idle_runs() {
  int64_t idle_ms = bus_.is_listening() ? options_.look_anyway_ms : options_.look_alone_ms;
  if (loop_.now_ms() - looked_ms_ < idle_ms / 4) return;
  looked_ms_ = loop_.now_ms();
  subscriptions_.wake_idle(idle_ms);
}

// Reads and delivers while runs are due, then waits for the signal. While Postgres is away they
// stay due, and each signal is a try.
Task<void> Poller::read_due_forever() {
  for (;;) {
    std::vector<UuidBytes> ids;
    std::vector<int64_t> afters;
    std::vector<bool> usage_wanted;
    std::vector<FollowedRun> due;  // subscriptions may go while Postgres answers
    std::vector<std::string> run_ids;
    for (Subscription* subscription : subscriptions_.take_read_due(runs_at_once_max)) {
      ids.push_back(subscription->id());
      afters.push_back(subscription->live_seq());
      usage_wanted.push_back(subscription->format().tells_usage);
      due.push_back(subscription->of());
      run_ids.push_back(subscription->run_id());
    }
    if (ids.empty()) {
      co_await read_due_.wait();
      continue;
    }
    postgres::Batch batch;
    batch.add(page_statement(ids, afters, usage_wanted));
    postgres::BatchOutcome outcome = co_await db_.attempt(std::move(batch));
    if (outcome.error) {
      log_fault(*outcome.error);
      for (const FollowedRun& followed : due) subscriptions_.postpone(followed);
      co_await read_due_.wait();
      continue;
    }
    std::vector<EventPage> pages = pages_of(outcome.results.at(0), run_ids);
    for (size_t i = 0; i < due.size(); ++i) {
      if (!pages[i].events->is_empty()) subscriptions_.publish_read(due[i], pages[i].events);
      if (pages[i].is_full) subscriptions_.postpone(due[i]);
    }
  }
}

// After each connection: it may be to another server, which was behind the one before.
Task<void> Poller::look_what_is_stored() {
  int64_t session = db_.sessions_begun();
  std::vector<std::pair<std::string, int64_t>> followed = subscriptions_.followed();
  for (size_t from = 0; from < followed.size(); from += options_.asked_at_once_max) {
    size_t to = std::min(from + options_.asked_at_once_max, followed.size());
    std::vector<UuidBytes> run_ids;
    std::vector<int64_t> seqs;
    for (size_t i = from; i < to; ++i) {
      run_ids.push_back(uuid_bytes(followed[i].first));
      seqs.push_back(followed[i].second);
    }
    postgres::Batch batch;
    batch.add(query::StreamStored{.run_ids = run_ids, .seqs = seqs});
    postgres::BatchOutcome outcome = co_await db_.attempt(std::move(batch));
    if (outcome.error) {
      log_fault(*outcome.error);
      co_return;
    }
    const postgres::Result& rows = outcome.results.at(0);
    for (int i = 0; i < rows.size(); ++i) {
      std::string run_id(rows[i].text("run_id"));
      if (subscriptions_.go_back(run_id, rows[i].integer("seq"))) ++runs_gone_back_;
    }
  }
  looked_in_session_ = session;
}

// Asks for every open stream. Equal rows of one question are sent once. Rows of all would be a
// fifth of the memory of the streams. Goes from the end of the list, which may change while
// Postgres is asked. A client that leaves is replaced by the last of the list, which was asked
// already or still follows, so nobody is left out.
Task<void> Poller::recheck() {
  std::vector<Following> denied;
  for (size_t left = clients_.size(); left > 0; left = std::min(left, clients_.size())) {
    size_t from = left - std::min(left, options_.asked_at_once_max);
    std::vector<Following> rows = distinct_rows(clients_, from, left);
    left = from;
    if (rows.empty()) continue;
    postgres::Batch batch = recheck_batch(rows);
    postgres::BatchOutcome outcome = co_await db_.attempt(std::move(batch));
    if (outcome.error) {
      log_fault(*outcome.error);
      co_return;
    }
    const postgres::Result& numbers = outcome.results.at(0);
    for (int i = 0; i < numbers.size(); ++i) {
      denied.push_back(rows[static_cast<size_t>(numbers[i].integer("number")) - 1]);
    }
  }
  if (denied.empty()) co_return;
  std::sort(denied.begin(), denied.end(), is_before);
  for (const std::unique_ptr<StreamClient>& client : clients_) {
    if (!client->is_open()) continue;
    Following row = row_of(*client);
    if (std::binary_search(denied.begin(), denied.end(), row, is_before)) client->end_early();
  }
}

}  // namespace hostler::relay
