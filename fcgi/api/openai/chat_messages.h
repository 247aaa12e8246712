// The messages of a chat in OpenAI's form, as a run keeps its history (sql/schema/chat_runs.sql).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fcgi/api/files/given_parts.h"
#include "fcgi/http/input.h"
#include "lib/json.h"

namespace hostler {

struct ChatMessages {
  std::string history;                      // JSON, oldest first
  std::vector<std::string> answered_calls;  // that it answers, by their ids, the newest last
  std::vector<std::string> missing_calls;   // of those that nobody makes in it
  bool has_files = false;
};

// The text that a part of a content has as this member, or its fault; path: the part's own.
std::string read_part_text(Fields& fields, const Json& part, const std::string& path,
                           std::string_view member);

// The member "messages"; its faults are added to the fields'. limits: of images in it.
ChatMessages read_chat_messages(Fields& fields, const UploadLimits& limits);

}  // namespace hostler
