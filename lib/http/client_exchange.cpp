// HttpExchange: what the reader sees, time limits, redirects. See lib/http/client.h.
#include <curl/curl.h>

#include "lib/ascii.h"
#include "lib/http/client.h"
#include "lib/http/client_lane.h"
#include "lib/net/own_address.h"

namespace hostler::http {
namespace {

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

HttpFailureKind kind_of_code(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_INTERFACE_FAILED:
    case CURLE_PROXY:
      return HttpFailureKind::connect;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
      return HttpFailureKind::tls;
    case CURLE_OPERATION_TIMEDOUT:
      return HttpFailureKind::timeout_connect;  // the only limit that curl itself watches
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
      return HttpFailureKind::reset;
    case CURLE_URL_MALFORMAT:  // a host name in letters that curl cannot turn into ASCII
      return HttpFailureKind::bad_request;
    default:
      return HttpFailureKind::protocol;
  }
}

// Part that may go to another origin than the one for which it was written.
bool follows_anywhere(const HttpField& field) {
  std::string name = ascii::lower_case(field.first);
  return name == "accept" || name == "accept-language" || name == "user-agent";
}

// True as long as a reader waits, who may be destroyed meanwhile.
class Awaited {
 public:
  explicit Awaited(bool& flag) : flag_(flag) { flag_ = true; }
  ~Awaited() { flag_ = false; }
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;

 private:
  bool& flag_;
};

}  // namespace

HttpExchange::HttpExchange(HttpClient& client, HttpRequest request)
    : client_(client),
      request_(std::move(request)),
      began_ms_(client.loop_.now_ms()),
      timer_(client.loop_, [this] { check_time(); }) {
  lane_ = request_.guarded ? client.guarded_lane_.get() : client.operator_lane_.get();
  std::optional<HttpUrl> url = parse_http_url(request_.url);
  if (!url) {
    fail(HttpFailureKind::bad_request, "not an http or https URL");
    return;
  }
  url_ = std::move(*url);
  if (prepare()) begin_hop();
}

HttpExchange::~HttpExchange() {
  lane_->forget(*this);
  drop_hop();
}

// Checks the URL of the first or the next hop.
bool HttpExchange::prepare() {
  if (request_.guarded && !client_.proxy_socket_.empty()) {
    fail(HttpFailureKind::denied_address, "a proxy checks no address for a tenant");
  } else if (url_.has_user_info) {
    fail(HttpFailureKind::bad_request, "the URL contains user info");
  } else if (request_.https_only && url_.scheme != "https") {
    fail(HttpFailureKind::bad_request, "only https is allowed here");
  } else if (std::optional<net::IpAddress> literal = net::IpAddress::parse(url_.host)) {
    if (!may_dial(*literal)) fail(HttpFailureKind::denied_address, refused_);
  } else if (request_.guarded && net::ends_in_number(url_.host)) {
    fail(HttpFailureKind::denied_address, "the host ends in a number and is not an address");
  }
  return phase_ != Phase::ended;
}

bool HttpExchange::may_dial(const net::IpAddress& address) {
  if (!request_.guarded || client_.allowed_.contains(address)) return true;
  net::AddressKind kind = net::kind_of_address(address);
  if (kind != net::AddressKind::global) {
    refused_ = address.text() + ": " + std::string(net::address_kind_name(kind));
  } else if (net::is_closed_port(address, url_.port)) {
    refused_ = address.text() + ": port " + std::to_string(url_.port);
  } else {
    return true;
  }
  return false;
}

Task<const HttpHead*> HttpExchange::head() {
  while (!head_complete_ && phase_ != Phase::ended) {
    co_await changed_.wait();
  }
  co_return head_complete_ ? &head_ : nullptr;
}

Task<std::optional<std::string>> HttpExchange::next_piece() {
  Awaited awaited(is_awaited_);
  if (held_socket >= 0) {
    phase_began_ms_ = client_.loop_.now_ms();
    lane_->read_held(*this);
  }
  while (buffer_.empty() && phase_ != Phase::ended) {
    co_await changed_.wait();
  }
  if (buffer_.empty()) co_return std::nullopt;
  std::string piece = std::exchange(buffer_, {});
  if (paused_) resume_reading();
  co_return piece;
}

void HttpExchange::resume_reading() {
  paused_ = false;
  phase_began_ms_ = client_.loop_.now_ms();
  // May call back with what curl held; a refusal there does not end the transfer by itself.
  CURLcode code = curl_easy_pause(easy_, CURLPAUSE_CONT);
  if (code != CURLE_OK) hop_ended(code);
}

void HttpExchange::enter(Phase phase) {
  phase_ = phase;
  phase_began_ms_ = client_.loop_.now_ms();
  if (phase == Phase::ended) {
    timer_.cancel();
  } else {
    timer_.restart(nearest_limit().due_ms - phase_began_ms_);
  }
}

HttpExchange::Limit HttpExchange::nearest_limit() const {
  Limit limit{phase_began_ms_ + request_.connect_timeout_ms, HttpFailureKind::timeout_connect};
  if (phase_ == Phase::sent) {
    limit = {phase_began_ms_ + request_.first_byte_timeout_ms, HttpFailureKind::timeout_first_byte};
  } else if (phase_ == Phase::receiving) {
    limit = {phase_began_ms_ + request_.idle_timeout_ms, HttpFailureKind::timeout_idle};
  }
  int64_t all_due_ms = began_ms_ + request_.total_timeout_ms;
  if (request_.total_timeout_ms > 0 && all_due_ms < limit.due_ms) {
    limit = {all_due_ms, HttpFailureKind::timeout_total};
  }
  return limit;
}

// Bytes that arrive do not touch the timer: when it fires, it looks when the last one came.
void HttpExchange::check_time() {
  int64_t now_ms = client_.loop_.now_ms();
  if (paused_ || held_socket >= 0) phase_began_ms_ = now_ms;  // the silence is ours
  Limit limit = nearest_limit();
  if (now_ms < limit.due_ms) {
    timer_.restart(limit.due_ms - now_ms);
    return;
  }
  fail(limit.kind, "after " + std::to_string(now_ms - began_ms_) + " ms");
  changed_.notify();  // may end this exchange
}

void HttpExchange::fail(HttpFailureKind kind, std::string message) {
  if (!failure_) failure_ = HttpFailure{kind, std::move(message)};
  drop_hop();
  enter(Phase::ended);
}

void HttpExchange::drop_hop() {
  if (easy_ != nullptr) {
    lane_->remove(easy_);
    curl_easy_cleanup(std::exchange(easy_, nullptr));
  }
  curl_slist_free_all(static_cast<curl_slist*>(std::exchange(fields_, nullptr)));
}

void HttpExchange::hop_ended(int curl_code) {
  CURLcode code = static_cast<CURLcode>(curl_code);
  if (redirecting_) {  // wake() goes on with the next hop
    drop_hop();
  } else if (failure_ || code == CURLE_OK || truncated_) {
    if (!failure_ && !head_complete_) {
      // curl is content with a connection that is closed inside the head.
      bool broke_off = code == CURLE_OK;
      failure_ = broke_off ? HttpFailure{HttpFailureKind::reset, "the head broke off"}
                           : HttpFailure{HttpFailureKind::protocol, "no answer"};
    }
    drop_hop();
    enter(Phase::ended);
  } else if (!refused_.empty() && !head_complete_) {
    fail(HttpFailureKind::denied_address, refused_);
  } else {
    std::string distrust = client_.fault_of_trust(easy_, code);
    std::string words = client_.fault_of_proxy(easy_, code);
    if (words.empty()) words = distrust.empty() ? curl_easy_strerror(code) : distrust;
    failure_ = HttpFailure{kind_of_code(code), std::move(words), !distrust.empty()};
    drop_hop();
    enter(Phase::ended);
  }
}

bool HttpExchange::is_reading() const {
  return !request_.reads_on_demand || !head_complete_ || is_awaited_;
}

void HttpExchange::wake() {
  if (redirecting_) follow_redirect();
  if (head_complete_ && easy_ != nullptr) release_sent();
  if (head_complete_ || phase_ == Phase::ended) changed_.notify();
}

// RFC 9110 section 15.4. The body of the redirect is not read, so its connection is given up.
void HttpExchange::follow_redirect() {
  redirecting_ = false;
  drop_hop();
  std::optional<HttpUrl> target = resolve_http_url(url_, head_.header("location"));
  if (++redirects_ > request_.follow_redirects_max) {
    fail(HttpFailureKind::too_many_redirects, std::to_string(redirects_));
    return;
  }
  if (!target || (url_.scheme == "https" && target->scheme == "http")) {
    fail(HttpFailureKind::bad_request, "the redirect's target is not allowed");
    return;
  }
  bool was_post = request_.method == "POST" && head_.status <= 302;
  if ((head_.status == 303 && request_.method != "HEAD") || was_post) {
    request_.method = "GET";
    request_.body.clear();
  }
  if (!target->same_origin(url_)) {
    std::erase_if(request_.headers,
                  [](const HttpField& field) { return !follows_anywhere(field); });
  }
  url_ = std::move(*target);
  if (prepare()) begin_hop();
}

// Lines behind the body count too: nobody reads them, but curl keeps each.
bool HttpExchange::bound_head(size_t line_bytes) {
  constexpr size_t head_bytes_max = 64 * 1024;
  head_bytes_ += line_bytes;
  if (head_bytes_ <= head_bytes_max) return true;
  failure_ = HttpFailure{HttpFailureKind::too_large, head_complete_
                                                         ? "the part after the body is over 64 KiB"
                                                         : "the answer's head is over 64 KiB"};
  return false;
}

bool HttpExchange::take_head_line(std::string_view line) {
  if (redirecting_) return true;
  if (!bound_head(line.size())) return false;
  if (head_complete_) return true;
  if (phase_ == Phase::sent) enter(Phase::receiving);
  phase_began_ms_ = client_.loop_.now_ms();
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {
    head_.take_line(line);
    return true;
  }
  if (!codings_.take_line(line, request_.accept_gzip)) {
    failure_ = HttpFailure{HttpFailureKind::protocol, "a coding that was not requested"};
    return false;
  }
  if (line.empty()) return head_.status < 200 || end_head();
  head_.take_line(line);
  return true;
}

bool HttpExchange::end_head() {
  head_bytes_ = 0;
  codings_ = {};
  head_.final_url = url_.text;
  lane_->mark_ready(*this);
  if (request_.follow_redirects_max > 0 && is_redirect(head_.status) &&
      !head_.header("location").empty()) {
    redirecting_ = true;
  } else {
    head_complete_ = true;
  }
  return true;
}

bool HttpExchange::take_body(const char* bytes, size_t count, bool& wants_pause) {
  constexpr size_t buffered_bytes_max = 256 * 1024;
  if (redirecting_) return true;
  if (!head_complete_) {
    // Behind a 101, or a second status line in the head: nobody would read it, nor time it out.
    failure_ = HttpFailure{HttpFailureKind::protocol, "a body without a head"};
    return false;
  }
  if (!buffer_.empty() && buffer_.size() + count > buffered_bytes_max) {
    paused_ = wants_pause = true;
    return true;
  }
  phase_began_ms_ = client_.loop_.now_ms();
  lane_->mark_ready(*this);
  if (body_bytes_ + count > request_.response_bytes_max) {
    if (request_.over_limit == OverLimit::cut) {
      buffer_.append(bytes, request_.response_bytes_max - body_bytes_);
      body_bytes_ = request_.response_bytes_max;
      truncated_ = true;
    } else {
      failure_ = HttpFailure{HttpFailureKind::too_large,
                             "over " + std::to_string(request_.response_bytes_max) + " bytes"};
    }
    return false;
  }
  body_bytes_ += count;
  buffer_.append(bytes, count);
  return true;
}

}  // namespace hostler::http
