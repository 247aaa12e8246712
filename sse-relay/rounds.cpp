// Questions for many clients at once; see sse-relay/rounds.h.
#include "sse-relay/rounds.h"

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
constexpr size_t rows_at_once_max = 2000;

void log_fault(const Error& fault) {
  if (fault.code == ErrorCode::database_unavailable) return;  // told by the connection
  log_error("relay_question_failed", {{"cause", fault.cause}});
}

// Who follows what: a row of the question.
struct Following {
  std::array<UuidBytes, 4> ids;  // session, key, organization, run
  IpAddress address;
  uint64_t order;  // equal rows have equal order
};

// The last eight bytes of our ids are random: mixed, they tell rows apart well enough to sort by.
uint64_t order_of(const std::array<UuidBytes, 4>& ids, const IpAddress& address) {
  uint64_t order = 0;
  memcpy(&order, address.bytes.data(), sizeof order);
  for (const UuidBytes& id : ids) {
    uint64_t tail = 0;
    memcpy(&tail, id.data() + 8, sizeof tail);
    order = (order << 13 | order >> 51) ^ tail;
  }
  return order;
}

Following row_of(const Client& client) {
  Following row{{client.session_id, client.api_key_id, client.org_id, client.channel->id()},
                client.address,
                0};
  row.order = order_of(row.ids, row.address);
  return row;
}

bool is_checked(const Client& client) {
  return client.phase == Phase::behind || client.phase == Phase::live;
}

bool is_before(const Following& a, const Following& b) {
  if (a.order != b.order) return a.order < b.order;
  return std::tie(a.ids, a.address.bytes) < std::tie(b.ids, b.address.bytes);
}

bool is_same(const Following& a, const Following& b) {
  return a.order == b.order && a.ids == b.ids && a.address == b.address;
}

std::vector<Following> distinct_rows(const std::vector<std::unique_ptr<Client>>& clients) {
  std::vector<Following> rows;
  rows.reserve(clients.size());
  for (const std::unique_ptr<Client>& client : clients) {
    if (is_checked(*client)) rows.push_back(row_of(*client));
  }
  std::sort(rows.begin(), rows.end(), is_before);
  rows.erase(std::unique(rows.begin(), rows.end(), is_same), rows.end());
  return rows;
}

Batch recheck_batch(const std::vector<Following>& rows, size_t from, size_t to) {
  Params params;
  for (size_t column = 0; column < 4; ++column) {
    std::vector<UuidBytes> ids;
    ids.reserve(to - from);
    for (size_t i = from; i < to; ++i) ids.push_back(rows[i].ids[column]);
    params.uuids(ids);
  }
  std::vector<std::string> addresses;
  for (size_t i = from; i < to; ++i) addresses.push_back(rows[i].address.text());
  params.texts(addresses);
  Batch batch;
  batch.add(query::stream_recheck, std::move(params));
  return batch;
}

}  // namespace

Task<void> read_due_runs(FollowServices& services, Signal& is_due) {
  for (;;) {
    std::vector<UuidBytes> ids;
    std::vector<int64_t> afters;
    std::vector<std::string> names;  // channels may go while Postgres answers
    for (RunChannel* channel : services.channels.take_read_due(runs_at_once_max)) {
      ids.push_back(channel->id());
      afters.push_back(channel->live_seq());
      names.push_back(channel->run_id());
    }
    if (ids.empty()) {
      co_await is_due.wait();
      continue;
    }
    Batch batch;
    batch.add(query::event_pages, page_params(ids, afters));
    BatchOutcome outcome = co_await services.db.attempt(std::move(batch));
    if (outcome.error) {
      log_fault(*outcome.error);
      for (const std::string& name : names) services.channels.postpone(name);
      co_await is_due.wait();
      continue;
    }
    std::vector<EventPage> pages = pages_of(outcome.results.at(0), names.size());
    for (size_t i = 0; i < pages.size(); ++i) {
      if (pages[i].events.last_seq > 0) services.channels.publish_read(names[i], pages[i].events);
      if (pages[i].is_full) services.channels.postpone(names[i]);
    }
  }
}

Task<void> recheck(FollowServices& services, const std::vector<std::unique_ptr<Client>>& clients,
                   std::function<void(Client&)> on_denied) {
  std::vector<Following> rows = distinct_rows(clients);
  std::vector<Following> denied;
  for (size_t from = 0; from < rows.size(); from += rows_at_once_max) {
    size_t to = std::min(from + rows_at_once_max, rows.size());
    Batch batch = recheck_batch(rows, from, to);
    BatchOutcome outcome = co_await services.db.attempt(std::move(batch));
    if (outcome.error) {
      log_fault(*outcome.error);
      co_return;
    }
    const Result& numbers = outcome.results.at(0);
    for (int i = 0; i < numbers.size(); ++i) {
      denied.push_back(rows[from + static_cast<size_t>(numbers[i].integer("number")) - 1]);
    }
  }
  if (denied.empty()) co_return;
  std::sort(denied.begin(), denied.end(), is_before);
  for (const std::unique_ptr<Client>& client : clients) {
    if (!is_checked(*client)) continue;
    Following row = row_of(*client);
    if (std::binary_search(denied.begin(), denied.end(), row, is_before)) on_denied(*client);
  }
}

}  // namespace hostler::relay
