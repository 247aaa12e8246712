// Pages of stored events; see sse-relay/event_pages.h.
#include "sse-relay/event_pages.h"

#include <memory>
#include <string>
#include <utility>

#include "lib/sse_frame.h"

namespace hostler::relay {
namespace {

constexpr int64_t rows_max = 500;
// Of frames, about: the statement adds what stands around the data.
constexpr int64_t bytes_max = 48 << 10;

}  // namespace

Params page_params(const std::vector<UuidBytes>& run_ids, const std::vector<int64_t>& afters) {
  Params params;
  params.uuids(run_ids).integers(afters).integer(rows_max).integer(bytes_max);
  return params;
}

std::vector<EventPage> pages_of(const Result& rows, size_t runs) {
  std::vector<EventPage> pages(runs);
  int at = 0;
  for (size_t number = 0; number < runs; ++number) {
    EventPage& page = pages[number];
    std::string frames;
    bool has_next = false;
    int begin = at;
    for (; at < rows.size(); ++at) {
      Row row = rows[at];
      if (row.integer("number") != static_cast<int64_t>(number) + 1) break;
      int64_t seq = row.integer("seq");
      std::string_view data = row.text("data");
      std::string_view type = row.text("type");
      append_frame(frames, seq, type, data, row.text("created_at"));
      if (at == begin) page.events.first_seq = seq;
      page.events.last_seq = seq;
      page.events.is_final = is_terminal_event(type);
      has_next = row.boolean("has_next");
    }
    page.is_full = has_next || at - begin >= rows_max;
    page.events.frames = std::make_shared<const std::string>(std::move(frames));
  }
  return pages;
}

}  // namespace hostler::relay
