// One connection of nginx to a worker, and the request that it carries: the only owner of libfcgi.
// Used by fcgi/worker.cpp. Not for threads, but read_body() may run on one while nothing else does.
//
// nginx connects, and asks again, with the whole request buffered, so taking and reading a request
// do not wait; a peer that sends half of one blocks the loop, which the master's watchdog covers
// (ARCHITECTURE.md).
#pragma once

#include <fcgiapp.h>

#include <string_view>

#include "fcgi/http/request.h"

namespace hostler {

class Connection {
 public:
  // listen_fd: the socket that does not block, which accept() takes connections from.
  explicit Connection(int listen_fd);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // The next connection with its request: 0, or an errno below 0; -EAGAIN: nobody waits.
  int accept();
  // The same of a connection that the caller accepted elsewhere and leaves to this one. What is not
  // whole behind the descriptor's own limits of time is given up for a connection of listen_fd.
  int adopt(int fd);

  enum class Next { nothing, request, end };
  // Reads the state of a kept connection without waiting. After its end it is closed.
  Next next();
  // libfcgi treats a write that would have to wait as an error, and a watch makes a descriptor
  // non-blocking. So call this after the watch is made.
  void make_blocking() const;
  bool is_open() const { return fcgx_.ipcFd >= 0; }
  int fd() const { return fcgx_.ipcFd; }

  // Parameters of the request: NAME=value…, ended by a null pointer, until finish().
  const char* const* params() const { return fcgx_.envp; }
  // Reads the input to its end, whatever becomes of it, into the room that the body has. Of one
  // that nobody wants so much that nginx takes the answer; false: more of it is left.
  bool read_body(Request& request);
  // A peer that went away is known behind finish() only: there is nobody left to tell.
  void write(std::string_view text);
  // Ends the request, whose views point into what is freed here. keeps: the connection stays open
  // for further requests, when nginx offers that and is still there.
  void finish(bool keeps);
  void close();
  // Makes nginx see an answer that ends in the middle.
  void cut() const;

 private:
  void spool_body(Request& request);

  FCGX_Request fcgx_;
  int listen_fd_;
};

}  // namespace hostler
