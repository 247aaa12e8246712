// Outbound HTTP for everything: models, tools, webhooks, captcha; mail uses its lanes
// (lib/mail/smtp.h). libcurl's multi interface on the loop; TLS is always verified, proxy variables
// are never used, nothing blocks. A request whose address a tenant chose is `guarded`: only public
// addresses are dialled (lib/net/address_guard.h), on connections that guarded requests share with
// nobody else. The program ignores SIGPIPE.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/http/client_url.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/wait.h"
#include "lib/net/address_guard.h"

namespace hostler::mail {
class SmtpExchange;
}

namespace hostler::http {

class HttpLane;

// Interface that a lane drives from outside of curl.
struct LaneTransfer {
  virtual void hop_ended(int curl_code) = 0;
  virtual void wake() = 0;
  // Whether what its socket has may be read now. One that answers false asks the lane to go on.
  virtual bool is_reading() const { return true; }
  bool is_ready = false;  // stands in the lane's list
  int held_socket = -1;   // has something that is not read yet

 protected:
  ~LaneTransfer() = default;
};

using HttpField = std::pair<std::string, std::string>;

enum class OverLimit { fail, cut };

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::vector<HttpField>
      headers;  // to another origin only Accept… and User-Agent follow a redirect
  std::string body;
  bool guarded = true;      // false only for addresses that the operator chose
  bool https_only = false;  // otherwise http, too; never anything else, never with user info
  bool accept_gzip = false;
  // Sent once at most, on a new connection: on an old one that breaks, libcurl sends it again.
  bool is_sent_once = false;
  // The body is read only while next_piece() waits for it: what comes meanwhile gathers in the
  // kernel, and is read and parsed at once. Else up to 256 KiB are read ahead.
  bool reads_on_demand = false;
  int64_t connect_timeout_ms = 10'000;     // look-up, connect and TLS together
  int64_t first_byte_timeout_ms = 60'000;  // from then to the answer's first byte
  int64_t idle_timeout_ms = 60'000;        // silence inside the answer
  int64_t total_timeout_ms = 0;            // of everything, redirects too; 0: none
  int follow_redirects_max = 0;            // each target is checked anew; https never turns to http
  size_t response_bytes_max = size_t{5} << 20;  // of the body, after decompression
  OverLimit over_limit = OverLimit::fail;       // or the body ends there, marked truncated
};

struct HttpHead {
  int status = 0;
  std::vector<HttpField> headers;  // names in lower case, in the order of arrival
  std::string final_url;

  // Takes one line without its end. A status line starts a new head. A line that is not a field is
  // not kept.
  void take_line(std::string_view line);
  std::string_view header(std::string_view lower_case_name) const;  // the first; empty: none
  // Retry-After (seconds or a date) or retry-after-ms, as a wait from now; never negative.
  std::optional<int64_t> retry_after_ms() const;
};

// Watches what a server did to the body on its way, as the lines of the head come. libcurl undoes
// every coding it knows, of the transfer without being asked, and one after the other, so that a
// few bytes become terabytes. Only one gzip that was asked for is accepted.
class BodyCodings {
 public:
  // Returns false if the line announces another coding.
  bool take_line(std::string_view line, bool asked_for_gzip);

 private:
  bool has_gzip_ = false;
};

enum class HttpFailureKind {
  bad_request,  // our own URL, method or header cannot be sent
  denied_address,
  connect,  // no such name, refused, unreachable
  tls,
  timeout_connect,
  timeout_first_byte,
  timeout_idle,
  timeout_total,
  reset,     // the connection broke before the answer's end
  protocol,  // what came is not HTTP
  too_large,
  too_many_redirects,
};
std::string_view http_failure_name(HttpFailureKind kind);

// How to fix a certificate that is not trusted, for logs and for readers of an error.
constexpr std::string_view trust_advice =
    "outbound.ca_file of this installation must name a PEM file with the certificate of its issuer";

struct HttpFailure {
  HttpFailureKind kind;
  std::string message;        // for the log: may name addresses
  bool is_untrusted = false;  // of tls: nothing here vouches for the certificate
};
// The kind's name, with the advice where the certificate is not trusted; names no address.
std::string http_failure_words(const HttpFailure& failure);

struct HttpAnswer {
  std::optional<HttpFailure> failure;  // then head and body are what had come by then
  HttpHead head;
  std::string body;
  bool truncated = false;
};

struct HttpClientOptions {
  std::string ca_file;  // PEM: trusted in addition to the system's
  net::CidrList
      allow_cidrs;  // addresses that guarded requests may dial although they are not public
  long idle_connections_max = 256;
  // A Unix socket with a SOCKS proxy: all connections go through it, names are looked up there, and
  // there are no guarded requests, whose addresses only a proxy could check. Empty: none.
  std::string proxy_socket;
};

// One a loop. Outlives its exchanges and whatever they wake: it may not end inside a coroutine that
// awaits one.
class HttpClient {
 public:
  // Throws std::runtime_error when ca_file cannot be read.
  explicit HttpClient(loop::Loop& loop, HttpClientOptions options = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // From the next connection and the next request on an old one.
  void allow_cidrs(net::CidrList allowed) { allowed_ = std::move(allowed); }

  // The whole answer, at most response_bytes_max of it.
  Task<HttpAnswer> fetch(HttpRequest request);

 private:
  friend class HttpExchange;
  friend class mail::SmtpExchange;
  void set_proxy(void* easy) const;
  // In words for the log and the operator, when it was the proxy that failed; else empty.
  std::string fault_of_proxy(void* easy, int curl_code) const;
  // The same when the server's certificate is not trusted: what is wrong with it, and what to set.
  std::string fault_of_trust(void* easy, int curl_code) const;

  loop::Loop& loop_;
  net::CidrList allowed_;
  std::string proxy_socket_;
  std::string ca_path_;  // what curl reads its trust from
  int ca_fd_ = -1;       // behind ca_path_ when it is not the system's own file
  // Two caches of connections: one dialled for an operator never serves a tenant's request.
  std::unique_ptr<HttpLane> operator_lane_;
  std::unique_ptr<HttpLane> guarded_lane_;
};

// One request and its answer, piece by piece. It is sent when it is constructed; destroying it
// closes the connection at once unless the answer had ended. One reader at a time.
class HttpExchange final : private LaneTransfer {
 public:
  HttpExchange(HttpClient& client, HttpRequest request);
  ~HttpExchange();
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  // The final answer's head, owned by the exchange; null: see failure().
  Task<const HttpHead*> head();
  // Returns what has arrived, at most 256 KiB. The connection is not read while more waits here.
  // Returns nothing at the end, which failure() distinguishes from a break.
  Task<std::optional<std::string>> next_piece();

  const std::optional<HttpFailure>& failure() const { return failure_; }
  bool truncated() const { return truncated_; }

 private:
  struct Callbacks;
  enum class Phase { connecting, sent, receiving, ended };

  bool prepare();
  void begin_hop();
  void set_options();
  void release_sent();
  bool build_fields();
  void follow_redirect();
  void drop_hop();
  void enter(Phase phase);
  struct Limit {
    int64_t due_ms;
    HttpFailureKind kind;
  };
  Limit nearest_limit() const;
  void fail(HttpFailureKind kind, std::string message);

  // Called by curl, from within the lane's turn: they only store and mark this exchange ready.
  bool take_head_line(std::string_view line);
  bool bound_head(size_t line_bytes);
  bool end_head();
  bool take_body(const char* bytes, size_t count, bool& wants_pause);
  bool may_dial(const net::IpAddress& address);
  void resume_reading();

  void hop_ended(int curl_code) override;
  void wake() override;
  bool is_reading() const override;
  void check_time();

  HttpClient& client_;
  HttpLane* lane_ = nullptr;
  HttpRequest request_;
  HttpUrl url_;
  void* easy_ = nullptr;    // CURL*
  void* fields_ = nullptr;  // curl_slist*
  Phase phase_ = Phase::connecting;
  int64_t began_ms_ = 0;
  int64_t phase_began_ms_ = 0;  // of the last byte, while receiving
  loop::Timer timer_;
  loop::Signal changed_;

  HttpHead head_;
  size_t head_bytes_ = 0;  // of the head so far, or of what comes behind the body
  BodyCodings codings_;
  bool head_complete_ = false;
  bool redirecting_ = false;
  int redirects_ = 0;
  std::string buffer_;
  size_t body_bytes_ = 0;
  bool paused_ = false;
  bool is_awaited_ = false;  // by next_piece()
  bool truncated_ = false;
  std::string refused_;  // why the last address of this hop was not dialled
  std::optional<HttpFailure> failure_;
};

}  // namespace hostler::http
