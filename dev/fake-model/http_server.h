// A small HTTP/1.1 server on one loop: keep-alive, streams in chunks, backpressure with a cap per
// connection. It knows nothing of models; the handler answers, at once or over time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dev/fake-model/http_message.h"
#include "lib/loop/loop.h"

namespace hostler::fake_model {

// A stream whose unsent bytes pass this waits for its client.
constexpr size_t unsent_bytes_max = 256 * 1024;

struct AnswerHead {
  int status = 200;
  std::string content_type;
  std::vector<HeaderField> fields;
};

enum class Outcome { finished, aborted_by_client, cut_by_server };
enum class CutStyle { close, reset };

// The answering side of one request. Everything is a no-op once the client is gone.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual void answer(const AnswerHead& head, std::string_view body) = 0;

  // Or in pieces: begin_stream, write any number of times, then end.
  virtual void begin_stream(const AnswerHead& head) = 0;
  virtual void write(std::string_view bytes) = 0;  // one chunk of the chunked coding
  virtual void end() = 0;
  // True: more than unsent_bytes_max wait for the client; Work::on_room tells when they went.
  virtual bool is_full() const = 0;

  // For answers that break the rules: raw bytes, and an invalid end.
  virtual void write_raw(std::string_view bytes) = 0;
  virtual void cut(CutStyle style) = 0;
};

// An answer that goes on after the handler returned. It is destroyed when the answer has ended or
// the client has left, never from inside its own functions.
class Work {
 public:
  virtual ~Work() = default;
  virtual void on_room() {}
};

struct ServerHooks {
  // Either answers and returns nothing, or returns the work that will.
  std::function<std::unique_ptr<Work>(Exchange&, const HttpRequest&)> answer;
  // The request's number, counted from 1, then what became of it.
  std::function<void(uint64_t number, const HttpRequest&)> on_request;
  std::function<void(uint64_t number)> on_stream;
  std::function<void(uint64_t number, int status, Outcome)> on_end;
};

class HttpServer {
 public:
  HttpServer(loop::Loop& loop, ServerHooks hooks);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Listens on 127.0.0.1; port 0 takes a free one. The port, or 0 with errno set.
  uint16_t listen(uint16_t port);
  void stop();  // closes the listener and every connection

 private:
  class Connection;

  void accept_all();
  void remove_later(uint64_t id);

  loop::Loop& loop_;
  ServerHooks hooks_;
  int listener_ = -1;
  std::unique_ptr<loop::FdWatch> watch_;
  loop::Timer accept_again_;  // after the process ran out of descriptors
  uint64_t connections_made_ = 0;
  uint64_t requests_read_ = 0;
  std::unordered_map<uint64_t, std::unique_ptr<Connection>> connections_;
};

// "OK" for 200, and so on; never empty.
std::string_view reason_phrase(int status);

}  // namespace hostler::fake_model
