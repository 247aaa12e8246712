// Route of a run: a model at its provider, with the facts that a turn needs. Read from the rows of
// run_claim, run_load and run_routes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/config/secret_box.h"
#include "lib/postgres/database.h"
#include "runner/models/model.h"

namespace hostler::runner {

struct Route {
  std::string id;
  ModelEndpoint endpoint;
  ModelTraits traits;
  bool has_readable_key = true;  // the provider has no key, or one that this installation can open
  int64_t context_tokens = 0;
  std::optional<int64_t> max_output_tokens;
  bool takes_images = false;
  double input_price = 0;   // dollars a million tokens, the dearest, with the model's multiplier
  double output_price = 0;  // likewise
};

Route route_of(const config::SecretBox& secrets, const postgres::Row& row);

}  // namespace hostler::runner
