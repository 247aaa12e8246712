// The forms in which a thread's history and a turn's tool calls are stored, read and written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/json.h"
#include "lib/postgres/database.h"
#include "runner/models/model.h"

namespace hostler::runner {

// A character of English is about a quarter of a token, of Chinese about one token in three bytes.
// Three bytes a token errs to the safe side for text; a quarter of the context is left for the
// answer.
int64_t history_bytes_max(int64_t context_tokens);

// Text that replaces a result that the model does not get any more.
constexpr std::string_view left_out =
    R"({"note":"left out: the conversation is longer than the model takes"})";

// Line that replaces an image whose file was deleted.
constexpr std::string_view deleted_image = "(An image stood here. Its file was deleted.)";

// Maximum that query::run_claim and query::run_history read.
constexpr size_t history_messages_max = 1000;

// Oldest first. rows: newest first, as query::run_history answers them.
std::vector<ChatMessage> history_of(const postgres::Result& rows);

// The same of what query::run_claim answers: of each message the first letter of its role, its
// bytes, a colon and its content. Nothing when it is not of that form.
std::optional<std::vector<ChatMessage>> history_of(std::string_view packed);

// One turn of a run with the results of its calls, each call's beside it.
struct Exchange {
  ChatMessage answer;
  std::vector<ChatMessage> results;

  size_t bytes() const;
};

// Everything that is sent to the model: system prompt, history, the run's own exchanges, oldest
// first. A turn begins with the bytes of the turn before it, then come new ones, so a provider that
// caches its input need not read it again. The result is the same in every daemon, because it
// follows from the arguments alone.
// Beyond the budget the oldest messages are left out, but never system texts. A call is never sent
// without its result, nor a result without its call. The run's own exchanges lose first their
// results, then whole exchanges. The newest message (with the call that it answers) and the newest
// exchange are always sent, the latter's results cut if necessary. More is left out than must be,
// so that the next turns begin with the same bytes. A history of messages_max or more counts as
// read in part.
std::vector<ChatMessage> fitted_messages(const std::string& system_prompt,
                                         const std::vector<ChatMessage>& history,
                                         std::vector<Exchange> exchanges, int64_t bytes_max,
                                         size_t messages_max = history_messages_max);

}  // namespace hostler::runner
