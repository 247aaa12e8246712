// Downloads of files. Route: GET /v1/files/{file_id}/content.
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

ApiStack& stack() { return runner_stack(); }

// A picture with so many bytes after its end, which decoders do not read.
std::string long_picture(size_t bytes) {
  std::string png = picture("small.png");
  for (uint32_t i = 0; png.size() < bytes; ++i) png += std::to_string(i * 2654435761U);
  png.resize(bytes);
  return png;
}

struct Download : testing::Test {
  TestUser user = register_user(stack());
  std::string bytes = long_picture((size_t{3} << 18) + 12'345);
  std::string path = "/v1/files/" + ready_file(user.client, bytes, "my \"näme\".png") + "/content";

  Answer ranged(const std::string& range, const std::string& condition = "") const {
    Call call{"GET", path, {}, {}, {{"Range", range}}};
    if (!condition.empty()) call.headers.push_back({"If-Range", condition});
    return user.client.send(std::move(call));
  }
};

TEST_F(Download, HasTheBytesThatWereUploaded) {
  Answer answer = user.client.get(path);
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.body == bytes);
  EXPECT_EQ(answer.header("content-type"), "image/png");
  EXPECT_EQ(answer.header("content-length"), std::to_string(bytes.size()));
  EXPECT_EQ(answer.header("etag"), '"' + to_hex(sha256(bytes)) + '"');
  EXPECT_EQ(answer.header("x-content-type-options"), "nosniff");
  EXPECT_EQ(answer.header("content-security-policy"), "default-src 'none'; sandbox");
  EXPECT_EQ(answer.header("content-disposition"),
            "attachment; filename=\"my _n__me_.png\"; filename*=UTF-8''my%20%22n%C3%A4me%22.png");
}

TEST_F(Download, HasTheRangeThatWasAskedFor) {
  size_t piece = size_t{1} << 18;
  struct Case {
    std::string range;
    size_t first;
    size_t count;
  };
  for (const Case& one : {Case{"bytes=0-0", 0, 1},
                          {"bytes=10-19", 10, 10},
                          {fmt::format("bytes={}-{}", piece - 2, piece + 1), piece - 2, 4},
                          {fmt::format("bytes={}-", piece), piece, bytes.size() - piece},
                          {"bytes=-5", bytes.size() - 5, 5},
                          {fmt::format("bytes=7-{}", bytes.size() * 2), 7, bytes.size() - 7}}) {
    SCOPED_TRACE(one.range);
    Answer answer = ranged(one.range);
    EXPECT_EQ(answer.status, 206);
    EXPECT_TRUE(answer.body == bytes.substr(one.first, one.count)) << answer.body.size();
    EXPECT_EQ(answer.header("content-range"),
              fmt::format("bytes {}-{}/{}", one.first, one.first + one.count - 1, bytes.size()));
  }
}

TEST_F(Download, IgnoresRangesThatItDoesNotUnderstand) {
  for (const char* range : {"bytes=0-1,3-4", "lines=1-2", "bytes=5-2", "bytes=a-b", "bytes=-"}) {
    EXPECT_EQ(ranged(range).status, 200) << range;
  }
  EXPECT_EQ(ranged("bytes=0-1", "\"another\"").status, 200);
  EXPECT_EQ(ranged("bytes=0-1", '"' + to_hex(sha256(bytes)) + '"').status, 206);
}

TEST_F(Download, RefusesARangeBehindTheEnd) {
  Answer answer = ranged(fmt::format("bytes={}-", bytes.size()));
  EXPECT_TRUE(is_problem(answer, 416, "http.range_not_satisfiable"));
  EXPECT_EQ(answer.header("content-range"), fmt::format("bytes */{}", bytes.size()));
}

TEST(Downloads, WaitForTheCheckAndUploadsForTheChecker) {
  ApiStack own;
  TestUser user = register_user(own);
  // Nobody checks here: this stack has no runner.
  Answer made = upload(user.client, picture("small.png"));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_TRUE(is_problem(user.client.get("/v1/files/" + made.member("id") + "/content"), 409,
                         "files.not_ready"));
  own.stop_files();
  Answer refused = upload(user.client, picture("small.png"));
  EXPECT_TRUE(is_problem(refused, 503, "files.unavailable"));
  EXPECT_FALSE(refused.header("retry-after").empty());
}

}  // namespace
}  // namespace hostler::testing_support
