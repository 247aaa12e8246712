// Pages of stored events; see sse-relay/event_pages.h.
#include "sse-relay/event_pages.h"

#include <memory>
#include <utility>

#include "queries/stream.h"

namespace hostler::relay {
namespace {

constexpr int64_t rows_max = 500;
// Approximate size of frames: the statement adds the text around the data.
constexpr int64_t bytes_max = 48 << 10;

}  // namespace

postgres::BoundStatement page_statement(const std::vector<UuidBytes>& run_ids,
                                        const std::vector<int64_t>& afters,
                                        const std::vector<bool>& usage_wanted) {
  if (run_ids.size() == 1) {
    return query::EventPage{.run_id = run_ids[0],
                            .after = afters[0],
                            .wants_usage = static_cast<bool>(usage_wanted[0]),
                            .rows_max = rows_max,
                            .bytes_max = bytes_max};
  }
  return query::EventPages{.run_ids = run_ids,
                           .afters = afters,
                           .usage_wanted = usage_wanted,
                           .rows_max = rows_max,
                           .bytes_max = bytes_max};
}

std::vector<EventPage> pages_of(const postgres::Result& rows,
                                const std::vector<std::string>& run_ids) {
  std::vector<EventPage> pages;
  int at = 0;
  for (const std::string& run_id : run_ids) {
    auto events = std::make_shared<events::EventBatch>(run_id);
    bool has_next = false;
    int begin = at;
    auto number = static_cast<int64_t>(pages.size()) + 1;
    for (; at < rows.size() && rows[at].integer("number") == number; ++at) {
      postgres::Row row = rows[at];
      events->append(row.integer("seq"), row.text("type"), row.text("data"), row.text("created_at"),
                     row.is_null("usage") ? "" : row.text("usage"));
      has_next = row.boolean("has_next");
    }
    pages.push_back({std::move(events), has_next || at - begin >= rows_max});
  }
  return pages;
}

}  // namespace hostler::relay
