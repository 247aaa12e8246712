// The file of the keys that wrap all secrets, changed: a new key in it, or the prepared one in use.
// Called by ctl/secrets.cpp; what the lines mean is lib/config/secret_box.h's. The file is replaced
// as a whole, with the owner and mode it had, so that a reader finds the old one or the new one.
#pragma once

#include <cstdint>
#include <string>

namespace hostler {

struct KeyFileChange {
  std::string fault;  // why nothing was changed; empty: it is done
  int64_t version = 0;
};

// Whether a key stands in it that opens and does not seal yet; its version, or 0.
int64_t prepared_version(const std::string& path);
// A further key, one version above all: is_prepared keeps it from sealing.
KeyFileChange add_key(const std::string& path, bool is_prepared);
// The prepared key seals from now on.
KeyFileChange use_prepared_key(const std::string& path);

}  // namespace hostler
