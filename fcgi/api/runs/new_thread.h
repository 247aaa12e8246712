// Reads the members of a thread that is to be created. Used by the handlers that create one.
#pragma once

#include <optional>
#include <string>

#include "fcgi/http/input.h"

namespace hostler {

struct NewThread {
  std::optional<std::string> title;
  std::string words;  // of the title, for the search
  bool is_private = false;
  std::optional<std::string> end_user;
  std::string metadata = "{}";  // JSON text
};

// The members title, is_private, end_user and metadata; faults go to those of the body.
NewThread read_new_thread(Fields& fields);

}  // namespace hostler
