// Marks of an app on its threads and runs, as requests carry them: end_user, a name of one of its
// users that only the app understands, and metadata, a small object of texts. Used by the handlers
// of threads, runs and usage; never interprets a mark.
#pragma once

#include <optional>
#include <string>

#include "fcgi/http/input.h"

namespace hostler {

// Opaque: any characters.
constexpr TextBounds end_user_bounds{.min = 1, .max = 128, .takes_control = true};

// metadata of a body as compact JSON; nothing when it is absent or at fault. Faults are named
// metadata or metadata.<name>.
std::optional<std::string> read_metadata(Fields& fields);

struct MetadataFilter {
  std::string name;
  std::string value;
};
// metadata[name]=value of a query, at most one.
std::optional<MetadataFilter> read_metadata_filter(const http::Target& target, QueryFields& fields);

}  // namespace hostler
