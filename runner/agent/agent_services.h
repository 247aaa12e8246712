// Services that the agent loop and its parts use. runner/daemon.cpp builds one for each daemon.
#pragma once

#include <cstddef>
#include <string>

#include "lib/config/live_settings.h"
#include "lib/config/secret_box.h"
#include "lib/http/client.h"
#include "lib/loop/loop.h"
#include "lib/loop/shared_permits.h"
#include "lib/postgres/database.h"
#include "runner/agent/active_run.h"
#include "runner/events/event_log.h"

namespace hostler::runner {

class ModelHealth;
class ToolBox;
class TurnHolds;

// Limit of turns whose model gets more than long_turn_bytes, as few models can. The text is kept
// three times while it is sent, once as JSON, which may be six times as long. With a slow server
// the daemon would keep all that for as long as a run may take.
using LongTurns = loop::SharedPermits;
constexpr size_t long_turn_bytes = size_t{3} << 20;
constexpr loop::PermitShares long_turn_shares{16, 4};

struct AgentServices {
  loop::Loop& loop;
  postgres::Database& db;
  http::HttpClient& http;
  EventLog& events;
  const config::SecretBox& secrets;
  const config::LiveSettings& settings;
  ToolBox& tools;
  LongTurns& long_turns;
  TurnHolds& turn_holds;
  ModelHealth& model_health;
};

// Reads that wait while Postgres is away.
Task<postgres::Results> read_with_retry(AgentServices& services, postgres::Batch batch);

}  // namespace hostler::runner
