// The connection of http_connection.h over a non-blocking socket: bytes are written at once and
// kept only when the socket takes no more.
#include "dev/fake-model/http_connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <utility>

namespace hostler::fake_model {
namespace {

// Requests that a client sends ahead while one is answered: as much as one request may have.
constexpr size_t input_bytes_max = head_bytes_max + body_bytes_max;
constexpr size_t buffer_bytes_kept = 64 * 1024;

void append_hex(std::string& out, size_t number) {
  std::array<char, 16> digits;
  char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  out.append(digits.data(), end);
}

}  // namespace

HttpServer::Connection::Connection(HttpServer& server, uint64_t id, int fd)
    : server_(server), id_(id), fd_(fd) {
  watch_ = std::make_unique<loop::FdWatch>(
      server.loop_, fd, [this](bool readable, bool writable) { on_ready(readable, writable); });
  watch();
}

HttpServer::Connection::~Connection() { close(Outcome::cut_by_server); }

void HttpServer::Connection::watch() {
  if (!is_open()) return;
  bool wants_read = reader_.buffered_bytes() < input_bytes_max && !ends_connection_;
  bool wants_write = unsent_bytes() > 0;
  if (wants_read == watches_read_ && wants_write == watches_write_) return;
  watches_read_ = wants_read;
  watches_write_ = wants_write;
  watch_->watch(wants_read, wants_write);
}

void HttpServer::Connection::on_ready(bool readable, bool writable) {
  if (writable) flush();
  if (readable && is_open()) read();
}

void HttpServer::Connection::read() {
  static std::array<char, 64 * 1024> bytes;  // one loop, one thread
  // Reads to the end, even after a short read, because a reset after the last bytes is reported
  // only once.
  while (is_open() && reader_.buffered_bytes() < input_bytes_max) {
    ssize_t count = ::recv(fd_, bytes.data(), bytes.size(), 0);
    if (count > 0) {
      reader_.feed({bytes.data(), static_cast<size_t>(count)});
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    close(Outcome::aborted_by_client);
    return;
  }
  if (number_ == 0) serve_next();
  watch();
}

void HttpServer::Connection::serve_next() {
  if (!is_open() || ends_connection_) return;
  HttpRequest request;
  RequestReader::State state = reader_.next(request);
  if (state == RequestReader::State::refused) return refuse();
  if (state == RequestReader::State::needs_more) {
    if (reader_.take_continue()) write_raw("HTTP/1.1 100 Continue\r\n\r\n");
    return;
  }
  begin(std::move(request));
  work_ = server_.hooks_.answer(*this, request_);
}

void HttpServer::Connection::begin(HttpRequest request) {
  request_ = std::move(request);
  number_ = ++server_.requests_read_;
  status_ = 0;
  ended_ = false;
  server_.hooks_.on_request(number_, request_);
}

void HttpServer::Connection::refuse() {
  ends_connection_ = true;
  AnswerHead head{reader_.refusal_status(), "text/plain", {}};
  begin(HttpRequest());
  answer(head, reader_.refusal() + "\n");
}

void HttpServer::Connection::append_head(const AnswerHead& head) {
  status_ = head.status;
  out_ += "HTTP/1.1 " + std::to_string(head.status) + " ";
  out_ += reason_phrase(head.status);
  out_ += "\r\nserver: hostler-fake-model\r\n";
  if (!head.content_type.empty()) out_ += "content-type: " + head.content_type + "\r\n";
  for (const HeaderField& field : head.fields) out_ += field.name + ": " + field.value + "\r\n";
  if (ends_connection_ || !request_.keep_alive) out_ += "connection: close\r\n";
}

void HttpServer::Connection::answer(const AnswerHead& head, std::string_view body) {
  if (!is_open() || ended_) return;
  append_head(head);
  out_ += "content-length: " + std::to_string(body.size()) + "\r\n\r\n";
  if (request_.method != "HEAD") out_ += body;
  ended_ = true;
  flush();
}

void HttpServer::Connection::begin_stream(const AnswerHead& head) {
  if (!is_open() || ended_) return;
  append_head(head);
  out_ += "transfer-encoding: chunked\r\n\r\n";
  server_.hooks_.on_stream(number_);
}

void HttpServer::Connection::write(std::string_view bytes) {
  if (!is_open() || ended_ || bytes.empty()) return;
  append_hex(out_, bytes.size());
  out_ += "\r\n";
  out_ += bytes;
  out_ += "\r\n";
  flush();
}

void HttpServer::Connection::end() {
  if (!is_open() || ended_) return;
  out_ += "0\r\n\r\n";
  ended_ = true;
  flush();
}

void HttpServer::Connection::write_raw(std::string_view bytes) {
  if (!is_open()) return;
  out_ += bytes;
  flush();
}

void HttpServer::Connection::cut(CutStyle style) {
  if (!is_open()) return;
  if (style == CutStyle::reset) {
    linger at_once{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  close(Outcome::cut_by_server);
}

void HttpServer::Connection::flush() {
  send();
  if (!is_open()) return;
  if (unsent_bytes() > 0) {
    was_full_ = was_full_ || is_full();
  } else {
    out_.clear();
    sent_ = 0;
    if (out_.capacity() > buffer_bytes_kept) out_.shrink_to_fit();
    if (ended_ && number_ != 0) {
      uint64_t id = id_;
      HttpServer* server = &server_;
      server_.loop_.defer([server, id] {
        auto found = server->connections_.find(id);
        if (found != server->connections_.end()) found->second->after_end();
      });
    }
  }
  watch();
  if (was_full_ && unsent_bytes() < unsent_bytes_max / 2) {
    was_full_ = false;
    if (work_) work_->on_room();
  }
}

void HttpServer::Connection::send() {
  while (is_open() && unsent_bytes() > 0) {
    ssize_t count = ::send(fd_, out_.data() + sent_, unsent_bytes(), MSG_NOSIGNAL);
    if (count >= 0) {
      sent_ += static_cast<size_t>(count);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) close(Outcome::aborted_by_client);
    return;
  }
  // A queue that is never quite empty must not grow without end.
  if (sent_ > unsent_bytes_max) {
    out_.erase(0, sent_);
    sent_ = 0;
  }
}

void HttpServer::Connection::after_end() {
  if (!is_open() || !ended_ || number_ == 0 || unsent_bytes() > 0) return;
  work_.reset();
  server_.hooks_.on_end(std::exchange(number_, 0), status_, Outcome::finished);
  if (ends_connection_ || !request_.keep_alive) return close(Outcome::finished);
  serve_next();
  watch();
}

void HttpServer::Connection::close(Outcome outcome) {
  if (!is_open()) return;
  watch_.reset();
  ::close(std::exchange(fd_, -1));
  if (number_ != 0) server_.hooks_.on_end(std::exchange(number_, 0), status_, outcome);
  // The work may be what called: it goes with the connection, on a later turn.
  server_.remove_later(id_);
}

}  // namespace hostler::fake_model
