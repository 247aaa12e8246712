// What the agent loop and its parts may use; built by runner/daemon.cpp, one a daemon.
#pragma once

#include "lib/loop/db.h"
#include "lib/loop/http_client.h"
#include "lib/loop/live_settings.h"
#include "lib/loop/loop.h"
#include "lib/secret_box.h"
#include "runner/active_run.h"
#include "runner/event_log.h"

namespace hostler::runner {

class ToolBox;

struct AgentServices {
  Loop& loop;
  Database& db;
  HttpClient& http;
  EventLog& events;
  const SecretBox& secrets;
  const LiveSettings& settings;
  ToolBox& tools;
};

// Reads that wait while Postgres is away.
Task<Results> read_patiently(AgentServices& services, Batch batch);

}  // namespace hostler::runner
