// A client's way into a stream, and back into it after it fell behind: stored events first, then
// live ones, none missing, none twice. Called by the per-client function of sse-relay/relay.cpp,
// which catches what is thrown here.
//
// The rule that makes it simple: the table is the truth, the feed is a hint. Follow the run, then
// read what is stored, then go on with what came meanwhile, dropping what is not newer.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/loop/db.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "sse-relay/channels.h"
#include "sse-relay/client.h"
#include "sse-relay/gate.h"

namespace hostler::relay {

using Origins = std::shared_ptr<const std::vector<std::string>>;

// What all clients share.
struct FollowServices {
  Loop& loop;
  Database& db;
  Channels& channels;
  Gate& gate;                        // before questions for one client
  std::function<bool()> is_crowded;  // no further stream has a place
  std::function<Origins()> cors_origins;
  std::function<int64_t()> retry_ms;     // with jitter
  std::function<void(Client&)> on_open;  // may read the run, the head is next
};

// From the request, which has arrived, to the head and the first events. Then the client is live,
// behind or ending. Throws the answer's Error, before anything was sent.
Task<void> open_stream(FollowServices& services, Client& client);

// Until the client is live or ending, or has to drain first. Throws database_unavailable when the
// table is out of reach: then nothing is lost, and it is called again later.
Task<void> catch_up(FollowServices& services, Client& client);

}  // namespace hostler::relay
