// Whether the programs behind the sockets of this host answer; see ctl/doctor_report.h. The service
// manager takes connections for a program that is not there, so each is spoken to in its protocol.
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "ctl/doctor_report.h"
#include "ctl/setup_steps.h"

namespace hostler {
namespace {

using namespace std::string_view_literals;

// The packaged units set outbound.socket by their environment, which is not ours.
constexpr const char* packaged_outbound = "/run/hostler/outbound.sock";
constexpr timeval patience{2, 0};
// Each question with how its answer begins. FastCGI: request 1, GET /healthz; its output.
constexpr std::string_view api_question =
    "\x01\x01\x00\x01\x00\x08\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00"
    "\x01\x04\x00\x01\x00\x28\x00\x00\x0E\x03REQUEST_METHODGET\x0B\x08REQUEST_URI/healthz"
    "\x01\x04\x00\x01\x00\x00\x00\x00\x01\x05\x00\x01\x00\x00\x00\x00"sv;
constexpr std::string_view api_answer = "\x01\x06\x00\x01"sv;
// SCGI: a path that is no stream; the 404.
constexpr std::string_view stream_question =
    "64:CONTENT_LENGTH\0\x30\0SCGI\0\x31\0REQUEST_METHOD\0GET\0REQUEST_URI\0/healthz\0,"sv;
constexpr std::string_view stream_answer = "Status: ";
// SOCKS 5 (RFC 1928 section 3): one method, no authentication; and that it is taken.
constexpr std::string_view greeting = "\x05\x01\x00"sv;
constexpr std::string_view greeting_answer = "\x05\x00"sv;

// Waits for nothing longer than its patience. False, with errno, when there is no connection.
class Connection {
 public:
  explicit Connection(const sockaddr_un& address)
      : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    is_there_ = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    cause_ = is_there_ ? 0 : errno;
  }
  ~Connection() { close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool is_there() const { return is_there_; }
  int cause() const { return cause_; }
  // Empty when nothing came.
  std::string answer_to(std::string_view question) const {
    std::array<char, 64> bytes;
    send(fd_, question.data(), question.size(), MSG_NOSIGNAL);
    ssize_t count = recv(fd_, bytes.data(), bytes.size(), 0);
    return count > 0 ? std::string(bytes.data(), static_cast<size_t>(count)) : "";
  }

 private:
  int fd_;
  bool is_there_ = false;
  int cause_ = 0;
};

// question: what is said to who takes the connection; answer: how what is said to it begins.
void look_at_socket(const std::string& what, const std::string& path, std::string_view question,
                    std::string_view answer, DoctorReport& report) {
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.data(), path.size());
  Connection connection(address);
  std::string fault;
  if (!connection.is_there()) {
    fault = strerror(connection.cause());
  } else if (!connection.answer_to(question).starts_with(answer)) {
    fault = "accepts the connection but does not answer";
  }
  if (fault.empty()) {
    report.well(what, path);
  } else {
    report.fault(what, fmt::format("{}: {}; systemctl status hostler.target", path, fault));
  }
}

}  // namespace

void look_at_sockets(const config::Settings& settings, DoctorReport& report) {
  look_at_socket("API socket", settings.text("api.socket"), api_question, api_answer, report);
  look_at_socket("stream socket", settings.text("stream.socket"), stream_question, stream_answer,
                 report);
  std::string outbound = settings.text("outbound.socket");
  if (outbound.empty() && !pool_has_network()) outbound = packaged_outbound;
  look_at_socket("outbound socket", outbound, greeting, greeting_answer, report);
}

}  // namespace hostler
