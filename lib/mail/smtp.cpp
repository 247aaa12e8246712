// One mail, one connection. See lib/mail/smtp.h.
#include "lib/mail/smtp.h"

#include <curl/curl.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "lib/host_name.h"
#include "lib/http/client_lane.h"
#include "lib/http/request_target.h"
#include "lib/mail/smtp_reply.h"

namespace hostler::mail {
namespace {

// The path is what curl says in EHLO.
std::string url_of(const MailServer& server) {
  bool is_v6 = server.host.find(':') != std::string::npos;
  std::string name = a_label_host(server.host).value_or(server.host);
  std::string host = is_v6 ? "[" + server.host + "]" : name;
  std::string scheme = server.tls == MailTls::tls ? "smtps://" : "smtp://";
  return scheme + host + ":" + std::to_string(server.port) + "/" +
         http::percent_encoded(server.greeting);
}

SmtpNeeds needs_of(const MailServer& server, const MailEnvelope& envelope) {
  return {.starttls = server.tls == MailTls::starttls,
          .login = !server.user.empty(),
          .smtputf8 = envelope.needs_smtputf8};
}

constexpr const char* login_words =
    "the server offers no login (AUTH), but smtp_user is set: empty smtp_user, or use the port and "
    "smtp_tls_mode on which it accepts logins";
constexpr const char* smtputf8_words =
    "the server does not offer SMTPUTF8, which letters beyond ASCII before the @ need: use one "
    "that does, or another address";

}  // namespace

std::string_view mail_fault_name(MailFault fault) {
  constexpr std::string_view names[] = {"other",         "unresolved",       "refused",
                                        "unreachable",   "without_tls",      "without_starttls",
                                        "without_login", "without_smtputf8", "untrusted",
                                        "timeout"};
  return names[static_cast<size_t>(fault)];
}

class SmtpExchange final : private http::LaneTransfer {
 public:
  SmtpExchange(http::HttpClient& client, MailServer server, MailEnvelope envelope,
               MailLimits limits)
      : client_(client),
        lane_(*client.operator_lane_),
        server_(std::move(server)),
        envelope_(std::move(envelope)),
        easy_(curl_easy_init()),
        replies_(needs_of(server_, envelope_)) {
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
  static size_t read_message(char* to, size_t, size_t count, void* self) noexcept {
    SmtpExchange& exchange = *static_cast<SmtpExchange*>(self);
    size_t left = exchange.envelope_.message.size() - exchange.message_sent_;
    size_t bytes = std::min(left, count);
    std::memcpy(to, exchange.envelope_.message.data() + exchange.message_sent_, bytes);
    exchange.message_sent_ += bytes;
    return bytes;
  }

  // Another count than was given ends the exchange: before a mail goes where it may not.
  static size_t hear_line(char* bytes, size_t, size_t count, void* self) noexcept {
    SmtpReplies& replies = static_cast<SmtpExchange*>(self)->replies_;
    replies.take_line({bytes, count});
    return replies.lack() == SmtpLack::nothing ? count : 0;
  }

  static int see_command(CURL*, curl_infotype type, char* bytes, size_t count,
                         void* self) noexcept {
    if (type == CURLINFO_HEADER_OUT) {
      static_cast<SmtpExchange*>(self)->replies_.take_command({bytes, count});
    }
    return 0;
  }

  void set_connection(const std::string& ca_path, const MailLimits& limits) {
    error_[0] = '\0';
    curl_easy_setopt(easy_, CURLOPT_PRIVATE, static_cast<http::LaneTransfer*>(this));
    curl_easy_setopt(easy_, CURLOPT_URL, url_of(server_).c_str());
    curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    client_.set_proxy(easy_);
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
    // Verbose is what makes curl tell which command it sends; nothing of it is printed.
    curl_easy_setopt(easy_, CURLOPT_VERBOSE, 1L);
    curl_easy_setopt(easy_, CURLOPT_DEBUGFUNCTION, see_command);
    curl_easy_setopt(easy_, CURLOPT_DEBUGDATA, this);
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
    outcome_.is_refused = code != CURLE_OK && replies_.refuses_for_good();
    // For faults that the server did not report itself, curl knows more.
    std::string refusal = code == CURLE_OPERATION_TIMEDOUT ? "" : replies_.refusal_words();
    std::string known = client_.fault_of_proxy(easy_, code);
    if (known.empty()) known = client_.fault_of_trust(easy_, code);
    if (known.empty()) known = error_[0] != '\0' ? error_ : curl_easy_strerror(code);
    outcome_.words = refusal.empty() ? readable_smtp(known) : refusal;
    if (refusal.empty()) outcome_.fault = fault_of(code);
    tell_lack();
    drop();
  }

  void tell_lack() {
    if (replies_.lack() == SmtpLack::nothing) return;
    bool is_login = replies_.lack() == SmtpLack::login;
    outcome_.is_sent = outcome_.is_refused = false;
    outcome_.fault = is_login ? MailFault::without_login : MailFault::without_smtputf8;
    outcome_.words = is_login ? login_words : smtputf8_words;
  }

  MailFault fault_of(CURLcode code) const {
    long cause = 0;
    switch (code) {
      case CURLE_COULDNT_RESOLVE_HOST:
        return MailFault::unresolved;
      case CURLE_COULDNT_CONNECT:
        // With a proxy it is that one which is away.
        if (!client_.proxy_socket_.empty()) return MailFault::other;
        curl_easy_getinfo(easy_, CURLINFO_OS_ERRNO, &cause);
        return cause == ECONNREFUSED ? MailFault::refused : MailFault::unreachable;
      case CURLE_PROXY:
        curl_easy_getinfo(easy_, CURLINFO_PROXY_ERROR, &cause);
        if (cause == CURLPX_REPLY_CONNECTION_REFUSED) return MailFault::refused;
        return cause == CURLPX_REPLY_NETWORK_UNREACHABLE || cause == CURLPX_REPLY_HOST_UNREACHABLE
                   ? MailFault::unreachable
                   : MailFault::other;
      case CURLE_SSL_CONNECT_ERROR:
        // OpenSSL's words for bytes that are no record of TLS, such as a greeting.
        return std::strstr(error_, "wrong version number") != nullptr ? MailFault::without_tls
                                                                      : MailFault::other;
      case CURLE_PEER_FAILED_VERIFICATION:
        return MailFault::untrusted;
      case CURLE_USE_SSL_FAILED:
        return MailFault::without_starttls;
      case CURLE_OPERATION_TIMEDOUT:
        return MailFault::timeout;
      default:
        return MailFault::other;
    }
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

  const http::HttpClient& client_;
  http::HttpLane& lane_;
  MailServer server_;
  MailEnvelope envelope_;
  CURL* easy_;
  curl_slist* recipients_ = nullptr;
  size_t message_sent_ = 0;
  SmtpReplies replies_;
  char error_[CURL_ERROR_SIZE];
  MailOutcome outcome_;
  loop::Signal changed_;
};

Task<MailOutcome> try_smtp(http::HttpClient& client, MailServer server, MailLimits limits) {
  SmtpExchange exchange(client, std::move(server), MailEnvelope(), limits);
  MailOutcome outcome = co_await exchange.ended();
  co_return outcome;
}

Task<MailOutcome> send_over_smtp(http::HttpClient& client, MailServer server, MailEnvelope envelope,
                                 MailLimits limits) {
  SmtpExchange exchange(client, std::move(server), std::move(envelope), limits);
  MailOutcome outcome = co_await exchange.ended();
  co_return outcome;
}

}  // namespace hostler::mail
