// The pool's listening socket: handed over by systemd or by a FastCGI spawner, kept over a reload,
// or opened here. Called by the master only.
#pragma once

#include <string>

namespace hostler {

struct Listener {
  int fd = -1;
  std::string path;  // to remove at the end; empty when the socket is not ours
  int tcp_fd = -1;   // the port of api.listen_tcp; -1: none
};

// The socket that systemd names "api"; descriptor 0 if that is a listening socket; else a new Unix
// socket at path (mode 0660). Throws Error if another process listens there, or if the folder does
// not permit it.
Listener open_listener(const std::string& path);

// Opens the port of the setting api.listen_tcp; one that the last generation left there is kept,
// one at another endpoint is closed. Throws Error when it cannot be had at the start; a generation
// that follows another goes on without it, and says so.
void open_port(const std::string& setting, bool is_reload, Listener& listener);

}  // namespace hostler
