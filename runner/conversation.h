// The forms in which a thread's history and a turn's tool calls are stored, read and written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/loop/db.h"
#include "runner/models/model.h"

namespace hostler::runner {

// A character of English is about a quarter of a token, of Chinese about one token in three bytes.
// Three bytes a token errs to the safe side for text; a quarter of the context is left for the
// answer.
int64_t history_bytes_max(int64_t context_tokens);

// Oldest first. rows: newest first, as query::run_history answers them.
std::vector<ChatMessage> history_of(const Result& rows);

// The tool calls of a turn, as they are stored: [{"id","name","arguments"}…], and back.
std::string tool_calls_json(const std::vector<ToolCall>& calls);
std::vector<ToolCall> tool_calls_from(std::string_view json);

}  // namespace hostler::runner
