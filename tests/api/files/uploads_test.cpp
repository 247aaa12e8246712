// Uploads, and what is refused of them. Routes: POST /v1/files, GET /v1/files,
// GET /v1/files/{file_id}, DELETE /v1/files/{file_id}.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "tests/support/clients/uploads.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

using testing::HasSubstr;

ApiStack& stack() { return runner_stack(); }

TEST(Uploads, BecomeReadyFilesOfTheCaller) {
  TestUser user = register_user(stack());
  std::string bytes = picture("turned.jpg");
  Answer made = user.client.send(upload_call(
      form_of({text_part("purpose", "user_data"), text_part("end_user", "ada"),
               text_part("metadata", R"({"ticket":"4711"})"), file_part(bytes, "dir/näme.png")})));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("name"), "näme.png");
  EXPECT_EQ(made.member("mime_type"), "image/jpeg");
  EXPECT_EQ(made.member("bytes"), std::to_string(bytes.size()));
  EXPECT_EQ(made.member("sha256"), to_hex(sha256(bytes)));
  EXPECT_EQ(made.member("end_user"), "ada");
  EXPECT_EQ(made.member("metadata"), R"({"ticket":"4711"})");
  EXPECT_EQ(made.member("created_by_user_id"), user.id);
  std::string path = "/v1/files/" + made.member("id");
  ASSERT_TRUE(eventually(20'000, [&] { return user.client.get(path).member("state") == "ready"; }));
  // Upright: the camera was turned.
  EXPECT_EQ(user.client.get(path).member("width"), "32");
  EXPECT_EQ(user.client.get(path).member("height"), "48");
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT count(*) FROM audit_logs WHERE action = "
                                           "'files.create' AND target_id = '{}'",
                                           made.member("id"))),
            "1");
}

TEST(Uploads, OfEveryKindOfImageAreDecoded) {
  TestUser user = register_user(stack());
  for (const char* name : {"small.png", "small.gif", "small.webp", "turned.jpg"}) {
    SCOPED_TRACE(name);
    std::string id = ready_file(user.client, picture(name), name);
    EXPECT_EQ(user.client.get("/v1/files/" + id).member("name"), name);
  }
}

TEST(Uploads, AreListedNewestFirstAndByEndUser) {
  TestUser user = register_user(stack());
  std::string first = upload(user.client, picture("small.png"), "first.png").member("id");
  Answer second = user.client.send(
      upload_call(form_of({file_part(picture("small.png")), text_part("end_user", "bob")})));
  Answer page = user.client.get("/v1/files?limit=1");
  EXPECT_THAT(page.body, HasSubstr(second.member("id")));
  EXPECT_THAT(user.client.get(page.next_path()).body, HasSubstr(first));
  Answer of_bob = user.client.get("/v1/files?end_user=bob");
  EXPECT_THAT(of_bob.body, HasSubstr(second.member("id")));
  EXPECT_THAT(of_bob.body, testing::Not(HasSubstr(first)));
}

TEST(Uploads, WithAnIdempotencyKeyHappenOnce) {
  TestUser user = register_user(stack());
  Call call = upload_call(form_of({file_part(picture("small.png"))}));
  call.headers.push_back({"Idempotency-Key", "one"});
  Answer first = user.client.send(call);
  Answer again = user.client.send(call);
  EXPECT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(again.header("idempotency-replayed"), "true");
  call.body = form_of({file_part(picture("small.gif"))});
  EXPECT_TRUE(is_problem(user.client.send(call), 422, "idempotency.key_reused"));
}

TEST(Uploads, AreRefusedByTheirBytesWhateverTheirName) {
  TestUser user = register_user(stack());
  auto refusal = [&](std::string bytes) {
    Answer answer = upload(user.client, std::move(bytes), "lie.png");
    EXPECT_TRUE(is_problem(answer, 422, "files.type_refused")) << answer.body;
    return answer.member("detail");
  };
  EXPECT_THAT(
      refusal("<?xml version=\"1.0\"?><!-- a --><svg xmlns=\"http://www.w3.org/2000/svg\"/>"),
      HasSubstr("image/svg+xml"));
  EXPECT_THAT(refusal("#!/bin/sh\necho hello\n"), HasSubstr("text/plain"));
  EXPECT_THAT(refusal("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), HasSubstr("application/pdf"));
  EXPECT_THAT(refusal(std::string("\x00\x01\x02\x03", 4)), HasSubstr("application/octet-stream"));
  EXPECT_EQ(user.client.get("/v1/files").body, "[]");
}

TEST(Uploads, ThatDoNotDecodeBecomeRefused) {
  TestUser user = register_user(stack());
  std::string png = picture("small.png");
  std::string bomb = png;
  bomb.replace(16, 8, std::string("\x00\x00\xea\x60\x00\x00\xea\x60", 8));  // 60,000 by 60,000
  std::string jpeg = picture("turned.jpg");
  for (const std::string& bytes :
       {png.substr(0, png.size() / 2), bomb, png.substr(0, 33), jpeg.substr(0, jpeg.size() - 60),
        std::string("GIF89a") + std::string(200, '\xff')}) {
    Answer made = upload(user.client, bytes);
    ASSERT_EQ(made.status, 201) << made.body;
    std::string path = "/v1/files/" + made.member("id");
    ASSERT_TRUE(
        eventually(20'000, [&] { return user.client.get(path).member("state") != "checking"; }));
    EXPECT_EQ(user.client.get(path).member("state"), "refused") << bytes.size();
    EXPECT_EQ(user.client.get(path).member("refusal"), "files.unreadable");
    EXPECT_TRUE(is_problem(user.client.get(path + "/content"), 422, "files.refused"));
  }
}

TEST(Uploads, ThatAreMalformedLeaveNothing) {
  TestUser user = register_user(stack());
  auto send = [&](std::string body, std::string type = "multipart/form-data; boundary=edge") {
    return user.client.send({"POST", "/v1/files", std::move(body), std::move(type), {}});
  };
  std::string good = form_of({file_part(picture("small.png"))});
  EXPECT_TRUE(is_problem(send(good.substr(0, good.size() - 9)), 400, "http.bad_multipart"));
  EXPECT_TRUE(
      is_problem(send(good, "multipart/form-data; boundary=other"), 400, "http.bad_multipart"));
  EXPECT_TRUE(is_problem(send(good, "multipart/form-data"), 400, "http.bad_multipart"));
  EXPECT_TRUE(
      is_problem(send("", "multipart/form-data; boundary=edge"), 400, "http.bad_multipart"));
  EXPECT_TRUE(is_problem(send("{}", "application/json"), 415, "http.unsupported_media_type"));
  EXPECT_TRUE(has_fault(send(form_of({text_part("purpose", "x")})), "file", "required"));
  EXPECT_TRUE(has_fault(send(form_of({file_part("a"), file_part("b")})), "file", "too_many"));
  EXPECT_TRUE(has_fault(send(form_of({file_part("")})), "file", "too_short"));
  EXPECT_TRUE(
      has_fault(send(form_of({file_part("a", std::string(5000, 'n'))})), "file", "too_long"));
  EXPECT_TRUE(
      has_fault(send(form_of({file_part("a", "dir/\x01\xe2\x80\xae")})), "file", "too_short"));
  EXPECT_TRUE(has_fault(send(form_of({file_part("a"), text_part("metadata", "[1]")})), "metadata",
                        "wrong_type"));
  EXPECT_TRUE(has_fault(send(form_of({file_part("a"), text_part("metadata", "{")})), "metadata",
                        "bad_format"));
  EXPECT_TRUE(
      has_fault(send(form_of({file_part("a"), text_part("other", "x")})), "other", "unknown"));
  EXPECT_EQ(user.client.get("/v1/files").body, "[]");
}

TEST(Uploads, AreBoundedToTheByte) {
  TestUser user = register_user(stack());
  std::string png = picture("small.png");
  auto limit = [&](size_t bytes) {
    sql_value(stack(), fmt::format("INSERT INTO entitlement_overrides (org_id, key, value, "
                                   "value_type, created_by_user_id) VALUES ('{}', "
                                   "'limit.file_bytes', '{}', 'integer', '{}') ON CONFLICT "
                                   "(org_id, key) DO UPDATE SET value = excluded.value "
                                   "RETURNING 1",
                                   user.org_id, bytes, user.id));
  };
  limit(png.size() - 1);
  EXPECT_TRUE(is_problem(upload(user.client, png), 413, "files.too_large"));
  limit(png.size());
  EXPECT_EQ(upload(user.client, png).status, 201);
  constexpr size_t most = size_t{32} << 20;
  TestUser other = register_user(stack());
  EXPECT_TRUE(is_problem(upload(other.client, std::string(most + 1, 'a')), 413, "files.too_large"));
  EXPECT_TRUE(is_problem(upload(other.client, std::string(most, 'a')), 422, "files.type_refused"));
}

TEST(Uploads, CountAsStoredUntilTheyAreDeletedAndForTheDay) {
  TestUser user = register_user(stack());
  int64_t before = limit_used(user.client, "limit.stored_bytes");
  std::string png = picture("small.png");
  std::string id = ready_file(user.client, png);
  EXPECT_EQ(limit_used(user.client, "limit.stored_bytes"), before + 4096);
  EXPECT_EQ(user.client.del("/v1/files/" + id).status, 204);
  EXPECT_EQ(limit_used(user.client, "limit.stored_bytes"), before);
  EXPECT_EQ(limit_used(user.client, "limit.upload_bytes_per_day"),
            static_cast<int64_t>(png.size()));
  EXPECT_TRUE(is_problem(user.client.get("/v1/files/" + id), 404, "files.not_found"));
  EXPECT_TRUE(is_problem(user.client.del("/v1/files/" + id), 404, "files.not_found"));
  EXPECT_EQ(
      sql_number(stack(), fmt::format("SELECT count(*) FROM file_pieces WHERE file_id = '{}'", id)),
      0);
}

TEST(Uploads, BelongToTheirCreatorAlone) {
  TestUser user = register_user(stack());
  TestUser colleague = register_user(stack());
  std::string workspace = make_workspace(stack(), user);
  add_member(stack(), workspace, colleague, "admin");
  std::string id = ready_file(user.client.with_org(workspace), picture("small.png"));
  std::string path = "/v1/files/" + id;
  Client of_colleague = colleague.client.with_org(workspace);
  EXPECT_TRUE(is_problem(of_colleague.get(path), 403, "policy.denied"));
  EXPECT_TRUE(is_problem(of_colleague.get(path + "/content"), 403, "policy.denied"));
  EXPECT_TRUE(is_problem(of_colleague.del(path), 403, "policy.denied"));
  EXPECT_TRUE(is_problem(colleague.client.get(path), 404, "files.not_found"));
  EXPECT_TRUE(is_problem(register_user(stack()).client.del(path), 404, "files.not_found"));
  EXPECT_EQ(of_colleague.get("/v1/files").body, "[]");
  Client key = stack().client().with_token(make_api_key(stack(), user, workspace));
  EXPECT_EQ(key.get(path).status, 200);
}

}  // namespace
}  // namespace hostler::testing_support
