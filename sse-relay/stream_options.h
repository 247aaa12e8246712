// How streams are served: where, for how many, and every moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/config/settings.h"
#include "lib/formats/formats.h"

namespace hostler::relay {

struct StreamOptions {
  std::string socket_path;  // made anew
  std::string listen_tcp;   // address:port of a private network; empty: none
  std::vector<std::string> tcp_peers;
  std::string conninfo;
  int clients_max = 20'000;          // open streams; more are told 503
  size_t asked_at_once_max = 2'000;  // streams or runs in one question of the database
  // Memory for all clients that leave a mebibyte or more unread.
  size_t unread_bytes_max = size_t{256} << 20;
  std::vector<std::string> cors_origins;
  std::span<const formats::Format> formats = formats::all_formats();

  // Moments. Each is kept to within a tick.
  int64_t tick_ms = 1'000;
  int64_t head_limit_ms = 10'000;      // for the request to arrive
  int64_t ping_after_ms = 15'000;      // of silence
  int64_t age_max_ms = 1'800'000;      // of a stream, about: who follows on comes back
  int64_t standstill_max_ms = 30'000;  // without progress, with something to write
  int64_t recheck_every_ms = 3'500;    // whether everybody may still follow: 5 s with a tick
  int64_t look_alone_ms = 1'000;       // at runs nothing was heard of, while nothing notifies
  int64_t look_anyway_ms = 30'000;     // likewise, when notifications arrive
  int64_t drain_limit_ms = 5'000;      // for the last bytes, at the end
};

StreamOptions stream_options(const config::Settings& start);

// How many streams may be open of one user's own tokens, one organization, one network; 0: any
// number.
struct StreamLimits {
  int64_t of_user = 0;
  int64_t of_org = 0;
  int64_t of_network = 0;
};

StreamLimits stream_limits(const config::Settings& settings);

}  // namespace hostler::relay
