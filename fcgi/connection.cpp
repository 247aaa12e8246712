// Requests out of libfcgi; see fcgi/connection.h.
#include "fcgi/connection.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "fcgi/http/spooled_body.h"

namespace hostler {
namespace {

// Maximum that is read of a body that no handler wants, so that nginx takes the answer.
constexpr int64_t discard_bytes_max = 8 << 20;

}  // namespace

Connection::Connection(int listen_fd) : listen_fd_(listen_fd) {
  FCGX_InitRequest(&fcgx_, listen_fd, 0);
}

Connection::~Connection() { close(); }

int Connection::accept() {
  errno = 0;
  return FCGX_Accept_r(&fcgx_);
}

// libfcgi finds it there already, as one that it kept from a request before, and reads from it.
int Connection::adopt(int fd) {
  fcgx_.ipcFd = fd;
  fcgx_.keepConnection = 1;
  return accept();
}

Connection::Next Connection::next() {
  char byte = 0;
  ssize_t count = recv(fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
    return Next::nothing;
  if (count > 0) {
    // An invalid request closes the connection; libfcgi would put another connection into its
    // place.
    fcgx_.listen_sock = -1;
    int failed = FCGX_Accept_r(&fcgx_);
    fcgx_.listen_sock = listen_fd_;
    if (failed == 0) return Next::request;
  }
  close();
  return Next::end;
}

void Connection::make_blocking() const { fcntl(fd(), F_SETFL, fcntl(fd(), F_GETFL) & ~O_NONBLOCK); }

// The disk takes the body of an upload, piece by piece.
void Connection::spool_body(Request& request) {
  std::string piece(SpooledBody::chunk_bytes, '\0');
  bool has_room = true;
  for (int count = 1; count > 0 && has_room;) {
    count = FCGX_GetStr(piece.data(), static_cast<int>(piece.size()), fcgx_.in);
    if (count > 0) has_room = request.spooled->add({piece.data(), static_cast<size_t>(count)});
  }
  request.spooled->end();
  request.body_is_short = has_room && request.spooled->bytes() < request.content_length;
}

bool Connection::read_body(Request& request) {
  if (request.spooled) spool_body(request);
  if (!request.body.empty()) {
    int count = FCGX_GetStr(request.body.data(), static_cast<int>(request.body.size()), fcgx_.in);
    request.body.resize(static_cast<size_t>(count < 0 ? 0 : count));
    request.body_is_short = static_cast<int64_t>(request.body.size()) < request.content_length;
  }
  char rest[4096];
  for (int64_t discarded = 0; discarded < discard_bytes_max; discarded += sizeof rest) {
    if (FCGX_GetStr(rest, sizeof rest, fcgx_.in) < static_cast<int>(sizeof rest)) return true;
  }
  return false;
}

void Connection::write(std::string_view text) {
  FCGX_PutStr(text.data(), static_cast<int>(text.size()), fcgx_.out);
}

// Detached, since closing would wait for nginx to close otherwise.
void Connection::finish(bool keeps) {
  if (!keeps) fcgx_.keepConnection = 0;
  FCGX_Detach(&fcgx_);
  FCGX_Finish_r(&fcgx_);
}

void Connection::cut() const { shutdown(fd(), SHUT_RDWR); }

void Connection::close() {
  if (!is_open()) return;
  FCGX_Detach(&fcgx_);
  FCGX_Free(&fcgx_, 1);
}

}  // namespace hostler
