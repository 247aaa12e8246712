// A Request made from text, as fcgi/worker.cpp makes it from a FastCGI record.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fcgi/http/request.h"

namespace hostler::testing_support {

class TestRequest {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;

  // fields by their FastCGI names: {"HTTP_ORIGIN", "https://a.example"}.
  TestRequest(const std::string& method, const std::string& uri, const Fields& fields = {},
              std::string body = {}) {
    lines_.push_back("REQUEST_METHOD=" + method);
    lines_.push_back("REQUEST_URI=" + uri);
    lines_.push_back("REMOTE_ADDR=192.0.2.7");
    for (const auto& [name, value] : fields) lines_.push_back(name + "=" + value);
    for (const std::string& line : lines_) params_.push_back(line.c_str());
    params_.push_back(nullptr);
    request_ = request_of(params_.data());
    request_.body = std::move(body);
  }

  Request& operator*() { return request_; }
  Request* operator->() { return &request_; }

 private:
  std::vector<std::string> lines_;
  std::vector<const char*> params_;
  Request request_;
};

// A POST with a JSON body.
inline TestRequest json_request(std::string body) {
  return TestRequest("POST", "/", {{"CONTENT_TYPE", "application/json"}}, std::move(body));
}

}  // namespace hostler::testing_support
