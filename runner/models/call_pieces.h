// Tells apart the pieces in which OpenAI's form streams tool calls: by id, then by index, then by
// whether the arguments so far are whole. Used by OpenAiReader; keeps no arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runner/models/json_progress.h"

namespace hostler {

struct CallPiece {
  std::string_view id = {};
  std::string_view name = {};
  std::string_view arguments = {};
  std::optional<int64_t> index = std::nullopt;
};

class CallPieces {
 public:
  // arguments_of: what came so far of the arguments of a call.
  explicit CallPieces(std::function<std::string_view(size_t)> arguments_of)
      : arguments_of_(std::move(arguments_of)) {}

  // The pieces that follow came in one delta. Named ones without ids are different calls.
  void begin_delta() { delta_begins_at_ = calls_.size(); }
  // The call that the piece belongs to, by its place; nothing: it begins another one.
  std::optional<size_t> call_of(const CallPiece& piece) const;
  // The next call begins with this piece.
  void open(const CallPiece& piece);
  // The piece goes to this call. Call before its arguments are appended.
  void take(size_t nth, const CallPiece& piece);
  // The arguments that the pieces mean where some repeat others: a whole object that is sent again
  // at the end, and {} before the real ones. Nothing: they are what was joined.
  std::optional<std::string_view> finished(size_t nth, std::string_view joined) const;

 private:
  struct Call {
    std::string id;
    std::string name;
    std::optional<int64_t> index;
    JsonProgress progress;
    size_t first_end = 0;  // of the first piece of its arguments
    size_t last_begin = 0;
    size_t bytes = 0;
  };
  bool is_other_by_id(const CallPiece& piece, const Call& call) const;
  bool begins_anew(const CallPiece& piece, size_t nth) const;
  std::optional<size_t> call_without_id(const CallPiece& piece) const;

  std::function<std::string_view(size_t)> arguments_of_;
  std::vector<Call> calls_;
  std::unordered_map<std::string, size_t> ids_;
  std::unordered_map<int64_t, size_t> indexes_;  // of an index the newest call
  size_t delta_begins_at_ = 0;
};

// The name of a call after a further piece of it: servers repeat it whole, send it in pieces, or
// send all that is known of it each time.
void join_name(std::string& name, std::string_view piece);

}  // namespace hostler
