// One model turn over HTTP: the call, its retries, and the code it fails with (contract section 4,
// Execution). Called by the agent loop; knows no run, no database and no money.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/http/client.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "runner/models/model.h"

namespace hostler {

struct RetryTiming {
  int tries_max = 3;
  int64_t first_delay_ms = 1000;        // doubled for each further try, ± 20 %
  int64_t retry_after_ms_max = 60'000;  // a server that wants a longer wait is not asked again
  int64_t retry_within_ms =
      0;  // no further try begins later than that after the first; 0: no limit
  bool ignores_comments = false;   // of a stream: they end no silence
  bool keeps_broken_calls = true;  // an answer that broke off within its calls counts as the turn
};

// Why there is no answer. The turn then holds what was shown.
struct ModelFailure {
  std::string code;
  std::string message;
  std::string reason;           // one word: http_503, connect, timeout_idle
  bool is_of_provider = false;  // another provider may answer the same request
  bool is_outage = false;       // a connection fault, 5xx or silence
};

// Fills the turn while it streams: a caller that cancels keeps what came, with its usage (estimated
// as long as the provider has not said). turn and observer outlive the task. A failed try is done
// again only while nothing of the turn was shown; the turn is then empty again.
//
// A refusal may teach a trait of the model (learned_traits.h): it is asked again at once, at most
// adaptations_left times. turn.traits has what was learned, turn.adaptations how often. Some turns
// return without an answer, and nothing of them was shown or made: with context_excess, with
// wants_other_history, with refused_tool, and with is_broken_off, whose calls began before the
// answer broke.
//
// Fails with the code
// model.rejected, model.rate_limited, model.unavailable, model.stream_broken, model.bad_response,
// run.answer_too_long, run.turn_limit, run.output_limit.
Task<std::optional<ModelFailure>> try_model_turn(http::HttpClient& http, loop::Loop& loop,
                                                 ModelRequest request, ModelTurn& turn,
                                                 ModelObserver& observer, RetryTiming timing);

// The same, and throws RunFailure when there is no answer.
Task<void> stream_model_turn(http::HttpClient& http, loop::Loop& loop, ModelRequest request,
                             ModelTurn& turn, ModelObserver& observer,
                             RetryTiming timing = RetryTiming());

}  // namespace hostler
