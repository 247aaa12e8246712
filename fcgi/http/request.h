// One request as nginx passed it on, as a plain value that nobody changes: what routing
// (fcgi/http/route.h), the client's address (fcgi/http/client.h) and authentication find out of it
// are values of their own. Made by fcgi/worker.cpp, and by tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace hostler {

class SpooledBody;

enum class Method : uint8_t { get, head, post, put, patch, del, options, other };

Method method_named(std::string_view name);
std::string_view method_name(Method method);

// Views point into the FastCGI parameters, which outlive the request.
struct Request {
  // A header field by its FastCGI name ("HTTP_X_ORG_ID"); absent: empty.
  std::string_view header(std::string_view fcgi_name) const;

  const char* const* params = nullptr;  // NAME=value…, ended by a null pointer
  Method method = Method::other;
  std::string_view uri;  // as in the request line: path and query, encoded
  std::string_view content_type;
  std::string_view authorization;
  std::string_view org_id_wanted;  // X-Org-Id
  std::string_view origin;
  std::string_view user_agent;
  std::string_view peer_address;
  std::string_view forwarded_for;  // X-Forwarded-For, all lines of it
  std::string_view connecting_ip;  // CF-Connecting-IP; given twice: no address
  std::string_view traceparent;
  bool is_tls = false;
  int64_t content_length = 0;  // as announced; the body is read only up to body_bytes_max
  std::string body;
  bool body_is_short = false;  // fewer bytes came than announced
  std::string trace_id;        // 32 hex characters: nginx's, or made here
  // The body of an upload. Null for other requests, and for one that is larger than any may be.
  std::shared_ptr<SpooledBody> spooled;
};

// Prepares what the body is read into: memory, or the disk for an upload. A body that is larger
// than it may be gets no room, and is not read. file_bytes_max: setting files.request_bytes_max.
void make_room_for_body(Request& request, int64_t file_bytes_max);

// Whether the body goes to the disk: POST of a multipart form to a path that takes files.
bool is_upload(const Request& request);

// Reads the parameters that every request has; makes a trace id when nginx gave none. Without a
// body.
Request request_of(const char* const* params);

}  // namespace hostler
