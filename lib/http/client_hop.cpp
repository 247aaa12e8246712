// One request on the wire: curl's options and curl's callbacks for an HttpExchange. This is where
// TLS, proxies, protocols and the address guard are set. See lib/http/client.h.
#include <curl/curl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cassert>

#include "lib/ascii.h"
#include "lib/http/client.h"
#include "lib/http/client_lane.h"

namespace hostler::http {
namespace {

// Memory per transfer: tokens come in small pieces, pages do not mind (measured, 18 KiB a stream).
constexpr long receive_bytes = 4096;
constexpr long send_bytes = 16 * 1024;
// Servers close idle connections after 60 s or so; a POST that meets the end of one fails.
constexpr long idle_connection_max_s = 30;

bool is_field_value(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return ascii::is_control(c) && c != '\t'; });
}

}  // namespace

struct HttpExchange::Callbacks {
  static size_t body(char* bytes, size_t, size_t count, void* self) noexcept {
    bool wants_pause = false;
    if (!static_cast<HttpExchange*>(self)->take_body(bytes, count, wants_pause)) return 0;
    return wants_pause ? CURL_WRITEFUNC_PAUSE : count;
  }

  static size_t head_line(char* bytes, size_t, size_t count, void* self) noexcept {
    bool goes_on = static_cast<HttpExchange*>(self)->take_head_line({bytes, count});
    return goes_on ? count : 0;
  }

  // Every address that is dialled passes here, whatever name or redirect led to it.
  static curl_socket_t open_socket(void* self, curlsocktype, curl_sockaddr* address) noexcept {
    HttpExchange& exchange = *static_cast<HttpExchange*>(self);
    bool is_proxy = address->family == AF_UNIX && !exchange.client_.proxy_socket_.empty();
    std::optional<net::IpAddress> dialled = net::IpAddress::from_socket(&address->addr);
    if (!is_proxy && (!dialled || !exchange.may_dial(*dialled))) return CURL_SOCKET_BAD;
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    address->protocol);
  }

  // The connection stands and nothing has been sent on it: also when it is an old one, which
  // open_socket never saw for this request.
  static int before_request(void* self, char* peer, char*, int, int) noexcept {
    HttpExchange& exchange = *static_cast<HttpExchange*>(self);
    std::optional<net::IpAddress> address = net::IpAddress::parse(peer);
    if (exchange.request_.guarded && (!address || !exchange.may_dial(*address))) {
      if (exchange.refused_.empty()) exchange.refused_ = "unknown address";
      return CURL_PREREQFUNC_ABORT;
    }
    exchange.refused_.clear();  // another address of the name was good
    exchange.enter(Phase::sent);
    return CURL_PREREQFUNC_OK;
  }
};

void HttpExchange::begin_hop() {
  head_ = {};
  refused_.clear();
  if (!build_fields()) {
    fail(HttpFailureKind::bad_request, "a method or header that cannot be sent");
    return;
  }
  easy_ = curl_easy_init();
  assert(easy_ != nullptr);
  set_options();
  enter(Phase::connecting);
  lane_->add(easy_);
}

bool HttpExchange::build_fields() {
  if (!ascii::is_token(request_.method)) return false;
  curl_slist* list = nullptr;
  bool has_type = false;
  bool has_agent = false;
  for (const HttpField& field : request_.headers) {
    if (!ascii::is_token(field.first) || !is_field_value(field.second)) {
      curl_slist_free_all(list);
      return false;
    }
    has_type = has_type || curl_strequal(field.first.c_str(), "content-type") != 0;
    has_agent = has_agent || curl_strequal(field.first.c_str(), "user-agent") != 0;
    // curl's form for an empty value is a semicolon.
    std::string line = field.first + (field.second.empty() ? ";" : ": " + field.second);
    list = curl_slist_append(list, line.c_str());
  }
  if (!has_agent) list = curl_slist_append(list, "User-Agent: Hostler/" HOSTLER_VERSION);
  if (!has_type) list = curl_slist_append(list, "Content-Type:");  // none, instead of a form's
  fields_ = curl_slist_append(list, "Expect:");
  return true;
}

void HttpExchange::set_options() {
  curl_easy_setopt(easy_, CURLOPT_PRIVATE, static_cast<LaneTransfer*>(this));
  curl_easy_setopt(easy_, CURLOPT_URL, url_.text.c_str());
  curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, url_.scheme.c_str());
  curl_easy_setopt(easy_, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  curl_easy_setopt(easy_, CURLOPT_FOLLOWLOCATION, 0L);  // follow_redirect() checks each
  client_.set_proxy(easy_);
  curl_easy_setopt(easy_, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  // Without it, giving up a slow look-up waits for its thread to end.
  curl_easy_setopt(easy_, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy_, CURLOPT_MAXAGE_CONN, idle_connection_max_s);
  curl_easy_setopt(easy_, CURLOPT_FRESH_CONNECT, request_.is_sent_once ? 1L : 0L);
  curl_easy_setopt(easy_, CURLOPT_BUFFERSIZE, receive_bytes);
  curl_easy_setopt(easy_, CURLOPT_UPLOAD_BUFFERSIZE, send_bytes);
  curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(request_.connect_timeout_ms));
  if (request_.accept_gzip) curl_easy_setopt(easy_, CURLOPT_ACCEPT_ENCODING, "gzip");

  curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYHOST, 2L);
  curl_easy_setopt(easy_, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(easy_, CURLOPT_CAINFO, client_.ca_path_.c_str());
  // A directory beside the file would make curl parse all certificates for every connection.
  curl_easy_setopt(easy_, CURLOPT_CAPATH, nullptr);

  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, static_cast<curl_slist*>(fields_));
  if (request_.method == "HEAD") {
    curl_easy_setopt(easy_, CURLOPT_NOBODY, 1L);
  } else if (request_.method != "GET" || !request_.body.empty()) {
    curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request_.body.size()));
    curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, request_.body.data());
    curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  }

  curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, Callbacks::body);
  curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, Callbacks::head_line);
  curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy_, CURLOPT_OPENSOCKETFUNCTION, Callbacks::open_socket);
  curl_easy_setopt(easy_, CURLOPT_OPENSOCKETDATA, this);
  curl_easy_setopt(easy_, CURLOPT_PREREQFUNCTION, Callbacks::before_request);
  curl_easy_setopt(easy_, CURLOPT_PREREQDATA, this);
}

// Frees what a long answer does not need any more: our body, and the 16 KiB into which curl copied
// it for TLS. curl frees these when their size is set again. A server may answer before it has read
// everything. Then curl still reads from both, and they stay.
void HttpExchange::release_sent() {
  if (request_.body.empty()) return;
  curl_off_t sent_bytes = 0;
  curl_easy_getinfo(easy_, CURLINFO_SIZE_UPLOAD_T, &sent_bytes);
  if (sent_bytes != static_cast<curl_off_t>(request_.body.size())) return;
  curl_easy_setopt(easy_, CURLOPT_UPLOAD_BUFFERSIZE, send_bytes);
  request_.body = std::string();
  request_.headers = std::vector<HttpField>();
}

}  // namespace hostler::http
