// Decides what a server's answer to a call of a webhook tool means. The table is in docs/tools.md.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/http/client.h"
#include "lib/loop/task.h"
#include "runner/tools/tool.h"

namespace hostler::runner {

struct WebhookAnswer {
  enum class Kind {
    done,      // for good: outcome is the call's
    accepted,  // 202: the result comes by token
    unsent,    // the server cannot have heard of it: another try harms nobody
    unclear,   // the server may have done it, or not
  };
  Kind kind;
  ToolOutcome outcome;  // of the last try; of an accepted call nothing
  std::optional<int64_t> retry_after_ms;
};

// The longest result that a server may answer with, as it is sent.
constexpr size_t webhook_answer_bytes_max = 1 << 20;

WebhookAnswer read_webhook_answer(const http::HttpAnswer& answer);
// The same; a long one is read on the thread pool.
Task<WebhookAnswer> read_webhook_answer(loop::Loop& loop, http::HttpAnswer answer);

// Whether an unclear call ends without another try, and the note for its model: that the outcome is
// unknown, unless the tool may be repeated.
ToolOutcome unclear_outcome(const WebhookAnswer& answer, bool is_repeatable);

}  // namespace hostler::runner
