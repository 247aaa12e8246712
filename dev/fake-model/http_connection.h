// One client's connection: reads requests one after the other, hands each to the handler, sends
// what the handler writes. Owned by HttpServer, which removes it on a later turn than it closed in.
#pragma once

#include <memory>
#include <string>

#include "dev/fake-model/http_server.h"

namespace hostler::fake_model {

class HttpServer::Connection final : public Exchange {
 public:
  Connection(HttpServer& server, uint64_t id, int fd);
  ~Connection() override;

  void answer(const AnswerHead& head, std::string_view body) override;
  void begin_stream(const AnswerHead& head) override;
  void write(std::string_view bytes) override;
  void end() override;
  bool is_full() const override { return unsent_bytes() > unsent_bytes_max; }
  void write_raw(std::string_view bytes) override;
  void cut(CutStyle style) override;

  // Functions for the server's later turns.
  void after_end();
  void close(Outcome outcome);

 private:
  void on_ready(bool readable, bool writable);
  void read();
  void serve_next();
  void begin(HttpRequest request);
  void refuse();
  void append_head(const AnswerHead& head);
  void flush();
  void send();
  void watch();
  size_t unsent_bytes() const { return out_.size() - sent_; }
  bool is_open() const { return fd_ >= 0; }

  HttpServer& server_;
  const uint64_t id_;
  int fd_;
  std::unique_ptr<loop::FdWatch> watch_;
  RequestReader reader_;

  // The request being answered; number 0: none.
  HttpRequest request_;
  uint64_t number_ = 0;
  int status_ = 0;
  bool ended_ = false;
  std::unique_ptr<Work> work_;

  std::string out_;
  size_t sent_ = 0;
  bool was_full_ = false;
  bool watches_write_ = false;
  bool watches_read_ = false;
  bool ends_connection_ = false;
};

}  // namespace hostler::fake_model
