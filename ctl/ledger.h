// Checks the ledger and adjusts credits by hand. Called by ctl/main.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/settings.h"

namespace hostler {

struct CreditAdjustment {
  std::string org_id;
  int64_t amount = 0;  // positive adds
  std::optional<std::string> note;
  bool as_json = false;
};

// Holds the ledger against the accounts, the holds of runs, the charges and the usage, as of one
// moment. exit_ok when all agree, exit_bad_input with the first row that is wrong otherwise.
int verify_ledger(const Settings& settings, bool as_json);
// As POST /v1/admin/credits/adjust; audited without an actor. Throws Error (orgs_not_found,
// credits_insufficient, validation_error).
int adjust_credits(const Settings& settings, const CreditAdjustment& adjustment);

}  // namespace hostler
