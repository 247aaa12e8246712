// Uploads of tests: forms, and pictures from tests/support/pictures.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/support/clients/client.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/child.h"

namespace hostler::testing_support {

inline std::string picture(std::string_view name) {
  return read_text_file(fmt::format("tests/support/pictures/{}", name));
}

struct FormPart {
  std::string disposition;  // behind form-data
  std::string bytes;
};

inline FormPart file_part(std::string bytes, std::string_view name = "a.png") {
  std::string quoted;
  for (char c : name) quoted += c == '"' ? std::string("\\\"") : std::string(1, c);
  return {fmt::format("; name=\"file\"; filename=\"{}\"", quoted), std::move(bytes)};
}

inline FormPart text_part(std::string_view name, std::string text) {
  return {fmt::format("; name=\"{}\"", name), std::move(text)};
}

inline std::string form_of(const std::vector<FormPart>& parts) {
  std::string body;
  for (const FormPart& part : parts) {
    body += "--edge\r\nContent-Disposition: form-data" + part.disposition + "\r\n\r\n" +
            part.bytes + "\r\n";
  }
  return body + "--edge--\r\n";
}

inline Call upload_call(std::string body) {
  return {"POST", "/v1/files", std::move(body), "multipart/form-data; boundary=edge", {}};
}

inline Answer upload(const Client& client, std::string bytes, std::string_view name = "a.png") {
  return client.send(upload_call(form_of({file_part(std::move(bytes), name)})));
}

// The id of a file that is uploaded and checked.
inline std::string ready_file(const Client& client, std::string bytes,
                              std::string_view name = "a.png") {
  Answer answer = upload(client, std::move(bytes), name);
  EXPECT_EQ(answer.status, 201) << answer.body;
  std::string path = "/v1/files/" + answer.member("id");
  EXPECT_TRUE(eventually(20'000, [&] { return client.get(path).member("state") != "checking"; }));
  EXPECT_EQ(client.get(path).member("state"), "ready");
  return answer.member("id");
}

}  // namespace hostler::testing_support
