// What the agent loop and its parts may use; built by runner/daemon.cpp, one a daemon.
#pragma once

#include "lib/config/live_settings.h"
#include "lib/config/secret_box.h"
#include "lib/http/client.h"
#include "lib/loop/loop.h"
#include "lib/postgres/database.h"
#include "runner/agent/active_run.h"
#include "runner/events/event_log.h"

namespace hostler::runner {

class ToolBox;

struct AgentServices {
  loop::Loop& loop;
  postgres::Database& db;
  http::HttpClient& http;
  EventLog& events;
  const config::SecretBox& secrets;
  const config::LiveSettings& settings;
  ToolBox& tools;
};

// Reads that wait while Postgres is away.
Task<postgres::Results> read_with_retry(AgentServices& services, postgres::Batch batch);

}  // namespace hostler::runner
