// Parts of one worker beside its connections: made by fcgi/worker.cpp, used by fcgi/dispatch.cpp
// and fcgi/answer_call.cpp, which hand each handler the parts that it needs. Only composes.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "fcgi/identity/background_queue.h"
#include "fcgi/identity/rate_limiter.h"
#include "fcgi/password/password_semaphore.h"
#include "fcgi/pool/worker_slot.h"
#include "lib/client/gateway.h"
#include "lib/config/secret_box.h"
#include "lib/config/settings.h"
#include "lib/config/stored_settings.h"
#include "lib/http/client.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/metrics.h"
#include "lib/postgres/database.h"
#include "lib/postgres/denial_log.h"

namespace hostler {

// When the use of sessions and keys was last written, so that each is at most once a minute.
class LastUsed {
 public:
  bool is_due(const std::string& id, int64_t now_ms);

 private:
  std::unordered_map<std::string, int64_t> written_ms_;
};

struct WorkerParts {
  // The referenced objects outlive this.
  WorkerParts(loop::Loop& loop, const config::Settings& configured,
              const config::SecretBox& secret_box, SharedPool& shared, int slot_number,
              client::RiskyNetworks risky_networks);
  WorkerParts(const WorkerParts&) = delete;
  WorkerParts& operator=(const WorkerParts&) = delete;

  loop::Loop& loop;
  postgres::Database database;
  http::HttpClient http;  // to what the operator named: never guarded, the addresses are theirs
  const config::SecretBox& secret_box;
  MetricsWriter metrics;
  client::RiskyNetworks risky_networks;
  config::StoredSettings settings;
  client::Gateway gateway;  // what the settings say of clients; another one when they change
  RateLimiter limiter;
  PasswordSemaphore passwords;
  BackgroundQueue background;
  postgres::DenialLog denials;
  LastUsed last_used;
  // One worker finds out for all whether a pooler keeps sessions whole; else the pool ends.
  loop::Task<void> pooling;
};

}  // namespace hostler
