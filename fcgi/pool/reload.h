// State that a master hands to the program that replaces it on SIGHUP: the listener and the workers
// that still serve. It travels as one variable of the environment.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fcgi/pool/listener.h"

namespace hostler {

inline constexpr const char* inheritance_variable = "POOL_INHERITANCE";

// The flag with which the next generation is asked, before it gets anything, whether it could
// start.
inline constexpr std::string_view check_start_flag = "check-start";

struct OldWorker {
  pid_t pid;
  int drain_fd;  // closing it tells the worker to finish; -1: it was told
};

struct Inheritance {
  Listener listener;
  std::vector<OldWorker> workers;
};

// listener FD, whether the socket's path is ours (1 or 0), the port's FD or -1, then pid:fd each:
// "5,1,-1,120:7,121:8"
std::string inheritance_text(const Inheritance& inheritance);
// own_path: the socket's path, for a listener that is ours. Nothing when the text has another form.
std::optional<Inheritance> read_inheritance(std::string_view text, const std::string& own_path);

}  // namespace hostler
