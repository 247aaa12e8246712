// Shows and mends what the outbox cannot deliver: mails and webhooks. Called by ctl/main.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "lib/settings.h"

namespace hostler {

struct OutboxFilter {
  std::string status;  // pending, failed, cancelled or delivered; empty: pending and failed
  std::string kind;    // mail or webhook; empty: both
  int64_t limit = 50;
};

// Each returns the exit status; throws Error when the database is out of reach.
int list_outbox(const Settings& settings, const OutboxFilter& filter, bool as_json);
// id: of one message, or empty for every one that failed. 65 when nothing could be done.
int retry_outbox(const Settings& settings, const std::string& id);
int drop_outbox(const Settings& settings, const std::string& id);

}  // namespace hostler
