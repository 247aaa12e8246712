// See sse-relay/stream_options.h.
#include "sse-relay/stream_options.h"

namespace hostler::relay {

StreamOptions stream_options(const config::Settings& start) {
  StreamOptions options;
  options.socket_path = start.text("stream.socket");
  options.listen_tcp = start.text("stream.listen_tcp");
  options.tcp_peers = start.strings("stream.tcp_peers");
  options.conninfo = start.text("database.url");
  options.clients_max = static_cast<int>(start.integer("stream.clients_max"));
  options.cors_origins = start.strings("http.cors_origins");
  return options;
}

StreamLimits stream_limits(const config::Settings& settings) {
  return {settings.integer("limit.streams_per_user"), settings.integer("limit.streams"),
          settings.integer("limit.streams_per_network")};
}

}  // namespace hostler::relay
