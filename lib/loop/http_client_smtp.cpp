// One mail, one connection. See lib/loop/http_client_smtp.h.
#include "lib/loop/http_client_smtp.h"

#include <curl/curl.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "lib/json.h"
#include "lib/loop/http_client_lane.h"

namespace hostler {
namespace {

constexpr size_t words_bytes_max = 400;

// The reply's lines joined, without control characters, cut.
std::string readable(std::string_view reply) {
  std::string text;
  for (char c : reply) {
    bool is_blank = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (is_blank && (text.empty() || text.back() == ' ')) continue;
    text += is_blank ? ' ' : c;
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  std::string clean = utf8_lossy(text);
  return std::string(utf8_prefix(clean, words_bytes_max));
}

std::string url_of(const MailServer& server) {
  bool is_v6 = server.host.find(':') != std::string::npos;
  std::string host = is_v6 ? "[" + server.host + "]" : server.host;
  std::string scheme = server.tls == MailTls::tls ? "smtps://" : "smtp://";
  return scheme + host + ":" + std::to_string(server.port);
}

// Replies about our login say nothing about the mail.
bool is_about_login(std::string_view reply) {
  std::string_view code = reply.substr(0, 3);
  return code == "530" || code == "534" || code == "535" || code == "538";
}

}  // namespace

class SmtpExchange final : private LaneTransfer {
 public:
  SmtpExchange(HttpClient& client, MailServer server, MailEnvelope envelope, MailLimits limits)
      : lane_(*client.operator_lane_),
        server_(std::move(server)),
        envelope_(std::move(envelope)),
        easy_(curl_easy_init()) {
    assert(easy_ != nullptr);
    set_connection(client.ca_path_, limits);
    set_mail();
    lane_.add(easy_);
  }
  ~SmtpExchange() {
    lane_.forget(*this);
    drop();
  }
  SmtpExchange(const SmtpExchange&) = delete;
  SmtpExchange& operator=(const SmtpExchange&) = delete;

  Task<MailOutcome> ended() {
    while (easy_ != nullptr) co_await changed_.wait();
    co_return outcome_;
  }

 private:
  static size_t read_message(char* place, size_t, size_t count, void* self) noexcept {
    SmtpExchange& exchange = *static_cast<SmtpExchange*>(self);
    size_t left = exchange.envelope_.message.size() - exchange.message_sent_;
    size_t bytes = std::min(left, count);
    std::memcpy(place, exchange.envelope_.message.data() + exchange.message_sent_, bytes);
    exchange.message_sent_ += bytes;
    return bytes;
  }

  // Each line the server says; a reply's last line has a space behind its code.
  static size_t hear_line(char* bytes, size_t, size_t count, void* self) noexcept {
    SmtpExchange& exchange = *static_cast<SmtpExchange*>(self);
    std::string_view line(bytes, count);
    if (exchange.reply_ended_) exchange.reply_.clear();
    if (exchange.reply_.size() < words_bytes_max * 2) exchange.reply_ += line;
    exchange.reply_ended_ = line.size() < 4 || line[3] != '-';
    // What comes behind a refusal is polite only.
    bool is_refusal = exchange.reply_.starts_with('4') || exchange.reply_.starts_with('5');
    if (is_refusal) exchange.refusal_ = exchange.reply_;
    return count;
  }

  void set_connection(const std::string& ca_path, const MailLimits& limits) {
    error_[0] = '\0';
    curl_easy_setopt(easy_, CURLOPT_PRIVATE, static_cast<LaneTransfer*>(this));
    curl_easy_setopt(easy_, CURLOPT_URL, url_of(server_).c_str());
    curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    curl_easy_setopt(easy_, CURLOPT_PROXY, "");
    curl_easy_setopt(easy_, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy_, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy_, CURLOPT_QUICK_EXIT, 1L);
    // A connection that idled is one the server may have left.
    curl_easy_setopt(easy_, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(easy_, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS,
                     static_cast<long>(limits.connect_timeout_ms));
    curl_easy_setopt(easy_, CURLOPT_TIMEOUT_MS, static_cast<long>(limits.total_timeout_ms));
    // ALL: without TLS there is no mail, whatever the server offers.
    long use_ssl = server_.tls == MailTls::starttls ? CURLUSESSL_ALL : CURLUSESSL_NONE;
    curl_easy_setopt(easy_, CURLOPT_USE_SSL, use_ssl);
    curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt(easy_, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    curl_easy_setopt(easy_, CURLOPT_CAINFO, ca_path.c_str());
    curl_easy_setopt(easy_, CURLOPT_CAPATH, nullptr);
    if (!server_.user.empty()) {
      curl_easy_setopt(easy_, CURLOPT_USERNAME, server_.user.c_str());
      curl_easy_setopt(easy_, CURLOPT_PASSWORD, server_.password.c_str());
    }
  }

  // Without a recipient the exchange ends behind the login.
  void set_mail() {
    curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, hear_line);
    curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, error_);
    if (envelope_.to.empty()) {
      curl_easy_setopt(easy_, CURLOPT_CONNECT_ONLY, 1L);
      return;
    }
    recipients_ = curl_slist_append(nullptr, ("<" + envelope_.to + ">").c_str());
    curl_easy_setopt(easy_, CURLOPT_MAIL_FROM, ("<" + envelope_.from + ">").c_str());
    curl_easy_setopt(easy_, CURLOPT_MAIL_RCPT, recipients_);
    curl_easy_setopt(easy_, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy_, CURLOPT_READFUNCTION, read_message);
    curl_easy_setopt(easy_, CURLOPT_READDATA, this);
  }

  void hop_ended(int curl_code) override {
    CURLcode code = static_cast<CURLcode>(curl_code);
    outcome_.is_sent = code == CURLE_OK;
    // Of what a server refuses, the recipient and the message are this mail's own.
    bool is_of_mail = std::string_view(error_).starts_with("RCPT failed") ||
                      message_sent_ == envelope_.message.size();
    outcome_.is_refused =
        code != CURLE_OK && is_of_mail && refusal_.starts_with('5') && !is_about_login(refusal_);
    // Of what the server did not say itself, curl knows more.
    std::string said = code == CURLE_OPERATION_TIMEDOUT ? "" : readable(refusal_);
    std::string known = error_[0] != '\0' ? error_ : curl_easy_strerror(code);
    outcome_.words = said.empty() ? readable(known) : said;
    drop();
  }

  void wake() override {
    if (easy_ == nullptr) changed_.notify();
  }

  void drop() {
    if (easy_ != nullptr) {
      lane_.remove(easy_);
      curl_easy_cleanup(std::exchange(easy_, nullptr));
    }
    curl_slist_free_all(std::exchange(recipients_, nullptr));
  }

  HttpLane& lane_;
  MailServer server_;
  MailEnvelope envelope_;
  CURL* easy_;
  curl_slist* recipients_ = nullptr;
  size_t message_sent_ = 0;
  std::string reply_;
  std::string refusal_;  // the last reply that was one
  bool reply_ended_ = true;
  char error_[CURL_ERROR_SIZE];
  MailOutcome outcome_;
  Signal changed_;
};

Task<MailOutcome> try_smtp(HttpClient& client, MailServer server, MailLimits limits) {
  SmtpExchange exchange(client, std::move(server), MailEnvelope(), limits);
  MailOutcome outcome = co_await exchange.ended();
  co_return outcome;
}

Task<MailOutcome> send_over_smtp(HttpClient& client, MailServer server, MailEnvelope envelope,
                                 MailLimits limits) {
  SmtpExchange exchange(client, std::move(server), std::move(envelope), limits);
  MailOutcome outcome = co_await exchange.ended();
  co_return outcome;
}

}  // namespace hostler
