// The form of POST /v1/files, read from the disk where the worker put it. Used by the handlers of
// files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fcgi/http/handler.h"
#include "lib/loop/task.h"

namespace hostler {

struct Upload {
  std::string name;
  int64_t offset = 0;  // of the file in the body
  int64_t bytes = 0;
  std::optional<std::string> end_user;
  std::optional<std::string> metadata;
};

// Throws 415 for another form of body, 413, 400 http.bad_multipart, and the 422 of a part.
Task<Upload> read_upload(Call& call);

// The type by the file's bytes, of a list that is fixed. Throws 422 files.type_refused, or 503 when
// hostler-files is away.
Task<std::string_view> type_of_upload(Call& call, const Upload& upload);

// Without path, control and bidi characters, and blanks at the ends; may be empty.
std::string file_name_of(std::string_view sent);

}  // namespace hostler
