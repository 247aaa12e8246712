// HttpClient: trust, the two lanes, and whole answers. See lib/http/client.h.
#include "lib/http/client.h"

#include <curl/curl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "lib/http/client_lane.h"
#include "lib/http/request_target.h"

namespace hostler::http {
namespace {

// Tenants' hosts are many and seldom asked again.
constexpr long guarded_idle_connections_max = 64;
constexpr long proxied_lifetime_s = 60;

void start_curl_once() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) throw std::runtime_error("libcurl does not start");
}

std::string system_trust_path() {
  const char* built_in = curl_version_info(CURLVERSION_NOW)->cainfo;
  return built_in != nullptr ? built_in : "/etc/ssl/certs/ca-certificates.crt";
}

bool read_file(const std::string& path, std::string& text) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  text.append(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  return !file.bad();
}

// curl shares parsed certificates between connections only when they come from one file, and has
// room for one file: so ours and the system's are joined in one that lives in memory.
int join_trust(const std::string& ca_file) {
  std::string joined;
  read_file(system_trust_path(), joined);
  joined += '\n';
  if (!read_file(ca_file, joined)) {
    throw std::runtime_error("outbound.ca_file: cannot read " + ca_file);
  }
  int fd = memfd_create("outbound-trust", MFD_CLOEXEC);
  if (fd < 0 || write(fd, joined.data(), joined.size()) != static_cast<ssize_t>(joined.size())) {
    throw std::runtime_error("outbound.ca_file: no memory for " + ca_file);
  }
  return fd;
}

// curl decodes the path of a proxy that is a socket.
std::string proxy_url(const std::string& socket_path) {
  std::string url = "socks5h://localhost";
  for (char c : socket_path) {
    if (c == '/') {
      url += c;
    } else {
      url += percent_encoded({&c, 1});
    }
  }
  return url;
}

}  // namespace

std::string_view http_failure_name(HttpFailureKind kind) {
  constexpr std::string_view names[] = {"bad_request",  "denied_address",  "connect",
                                        "tls",          "timeout_connect", "timeout_first_byte",
                                        "timeout_idle", "timeout_total",   "reset",
                                        "protocol",     "too_large",       "too_many_redirects"};
  return names[static_cast<size_t>(kind)];
}

std::string http_failure_words(const HttpFailure& failure) {
  std::string words(http_failure_name(failure.kind));
  if (failure.is_untrusted) words += ": " + std::string(trust_advice);
  return words;
}

HttpClient::HttpClient(loop::Loop& loop, HttpClientOptions options)
    : loop_(loop),
      allowed_(std::move(options.allow_cidrs)),
      proxy_socket_(std::move(options.proxy_socket)) {
  start_curl_once();
  if (options.ca_file.empty()) {
    ca_path_ = system_trust_path();
  } else {
    ca_fd_ = join_trust(options.ca_file);
    ca_path_ = "/proc/self/fd/" + std::to_string(ca_fd_);
  }
  operator_lane_ = std::make_unique<HttpLane>(loop, options.idle_connections_max);
  guarded_lane_ = std::make_unique<HttpLane>(loop, guarded_idle_connections_max);
}

HttpClient::~HttpClient() {
  operator_lane_.reset();
  guarded_lane_.reset();
  if (ca_fd_ >= 0) close(ca_fd_);
}

// Straight, or through the proxy; never through one that the environment names.
void HttpClient::set_proxy(void* easy) const {
  std::string proxy = proxy_socket_.empty() ? "" : proxy_url(proxy_socket_);
  curl_easy_setopt(easy, CURLOPT_PROXY, proxy.c_str());
  curl_easy_setopt(easy, CURLOPT_NOPROXY, proxy.empty() ? "*" : "");
  // The proxy bounds what one connection carries: none is used again for long.
  if (!proxy.empty()) curl_easy_setopt(easy, CURLOPT_MAXLIFETIME_CONN, proxied_lifetime_s);
}

std::string HttpClient::fault_of_proxy(void* easy, int curl_code) const {
  if (proxy_socket_.empty()) return {};
  if (curl_code == CURLE_COULDNT_CONNECT) {
    return "no hostler-runner takes calls on outbound.socket " + proxy_socket_;
  }
  if (curl_code != CURLE_PROXY) return {};
  long reply = CURLPX_OK;
  curl_easy_getinfo(easy, CURLINFO_PROXY_ERROR, &reply);
  std::string by = "hostler-runner, asked through outbound.socket, ";
  switch (reply) {
    case CURLPX_REPLY_NOT_ALLOWED:
      return by + "refuses this address: captcha.verify_url and mail settings do not name it";
    case CURLPX_REPLY_CONNECTION_REFUSED:
      return by + "was refused there";
    case CURLPX_REPLY_NETWORK_UNREACHABLE:
    case CURLPX_REPLY_HOST_UNREACHABLE:
      return by + "does not reach this address";
    default:
      return by + "failed; its log says why";
  }
}

// A wrong name (0) or a time that ran out (9, 10 in openssl/x509_vfy.h): more trust mends neither.
std::string HttpClient::fault_of_trust(void* easy, int curl_code) const {
  long verified = 0;
  curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &verified);
  bool is_untrusted = curl_code == CURLE_PEER_FAILED_VERIFICATION && verified != 0 &&
                      verified != 9 && verified != 10;
  return is_untrusted ? "its certificate is not trusted: " + std::string(trust_advice) : "";
}

Task<HttpAnswer> HttpClient::fetch(HttpRequest request) {
  HttpAnswer answer;
  HttpExchange exchange(*this, std::move(request));
  const HttpHead* head = co_await exchange.head();
  if (head != nullptr) answer.head = *head;
  while (head != nullptr) {
    std::optional<std::string> piece = co_await exchange.next_piece();
    if (!piece) break;
    answer.body += *piece;
  }
  answer.failure = exchange.failure();
  answer.truncated = exchange.truncated();
  co_return answer;
}

}  // namespace hostler::http
