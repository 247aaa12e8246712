// Queries that go to Postgres, in one round trip, before a stream opens, and the meaning of the
// answer: the caller, whether they may read the run, its first events.
#pragma once

#include <cstdint>
#include <string>

#include "lib/formats/formats.h"
#include "lib/postgres/database.h"
#include "sse-relay/event_pages.h"
#include "sse-relay/stream_request.h"

namespace hostler::relay {

// Whether the request is such that events are read for it: its ids and values have their form.
bool asks_for_events(const StreamRequest& wanted);

// The first result is that of query::authenticate.
postgres::Batch opening_batch(const StreamRequest& wanted, const formats::Format& format,
                              const AnswerContext& context, int64_t limit_of_org);

struct StreamOpening {
  int64_t last_seq = 0;  // of the run
  bool is_ended = false;
  int64_t limit_of_org = 0;  // of open streams; 0: any number
  std::string client_facts;  // of the run, as formats::RunFacts
  bool is_checked = false;   // likewise
  int64_t input_seq = 0;     // of the newest run.input_provided, where the format begins behind it
  EventPage page;            // behind the cursor
};

// Throws 404, 400, 422 and 410, in the contract's order.
StreamOpening read_opening(const StreamRequest& wanted, const postgres::Results& results);

}  // namespace hostler::relay
