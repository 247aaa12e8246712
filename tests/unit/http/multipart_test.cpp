// Forms of uploads (lib/http/multipart.h). Random cuts are tried by tests/fuzz/http/multipart_fuzz.
#include "lib/http/multipart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hostler::http {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* file_head =
    "--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\n"
    "Content-Type: image/png\r\n\r\n";

struct Read {
  std::string fault;
  std::vector<MultipartPart> parts;
};

Read read(const std::string& body) {
  MultipartReader reader("edge");
  for (char c : body) reader.add({&c, 1});
  std::string fault = reader.finish();
  return {std::move(fault), reader.parts()};
}

std::vector<std::string> contents(const std::string& body) {
  std::vector<std::string> all;
  for (const MultipartPart& part : read(body).parts) {
    all.push_back(part.name + "=" +
                  body.substr(static_cast<size_t>(part.offset), static_cast<size_t>(part.bytes)));
  }
  return all;
}

TEST(Multipart, TellsWhereEachPartIs) {
  std::string body = std::string(file_head) +
                     "bytes\r\n--edge\r\ncontent-disposition:form-data;name=end_user\r\n\r\nada\r\n"
                     "--edge--\r\n";
  EXPECT_EQ(read(body).fault, "");
  EXPECT_THAT(contents(body), ElementsAre("file=bytes", "end_user=ada"));
  EXPECT_EQ(read(body).parts.at(0).filename, "a.png");
  EXPECT_EQ(read(body).parts.at(1).filename, std::nullopt);
}

TEST(Multipart, TakesBytesThatLookLikeABoundary) {
  std::string inner = "\r\n--edg\r\n--\r\n-edge\r\n\r\n--Edge\r\n";
  EXPECT_THAT(contents(file_head + inner + "\r\n--edge--"), ElementsAre("file=" + inner));
}

TEST(Multipart, TakesPreambleEpilogueAndEmptyParts) {
  EXPECT_THAT(contents(std::string("words before\r\n") + file_head + "\r\n--edge--\r\nwords after"),
              ElementsAre("file="));
}

TEST(Multipart, ReadsNamesInEveryForm) {
  auto name_of = [](const std::string& disposition) {
    Read form = read("--edge\r\nContent-Disposition: form-data; name=file; " + disposition +
                     "\r\n\r\nx\r\n--edge--\r\n");
    return form.fault.empty() ? form.parts.at(0).filename.value_or("none") : form.fault;
  };
  EXPECT_EQ(name_of(R"(filename="a \"b\".png")"), R"(a "b".png)");
  EXPECT_EQ(name_of(R"(filename="C:\dir\a.png")"), R"(C:\dir\a.png)");
  EXPECT_EQ(name_of("filename=plain.png"), "plain.png");
  EXPECT_EQ(name_of("filename=\"_.png\"; filename*=UTF-8''%e2%82%ac%20rates.png"), "€ rates.png");
  EXPECT_THAT(name_of("filename=\"open"), HasSubstr("Content-Disposition"));
  EXPECT_THAT(name_of("filename=a; filename=b"), HasSubstr("Content-Disposition"));
}

TEST(Multipart, RefusesWhatIsNotWhole) {
  EXPECT_THAT(read(std::string(file_head) + "bytes").fault, HasSubstr("last boundary"));
  EXPECT_THAT(read("").fault, HasSubstr("last boundary"));
  EXPECT_THAT(read(std::string(file_head) + "bytes\r\n--edgeXY").fault, HasSubstr("its line"));
  EXPECT_THAT(read("--edge\r\nContent-Type: text/plain\r\n\r\nx\r\n--edge--").fault,
              HasSubstr("Content-Disposition"));
  std::string many;
  for (int i = 0; i < 40; ++i) many += std::string(file_head) + "x\r\n";
  EXPECT_THAT(read(many + "--edge--").fault, HasSubstr("too many parts"));
  EXPECT_THAT(read("--edge\r\nX: " + std::string(9000, 'a') + "\r\n\r\n").fault,
              HasSubstr("too long"));
}

TEST(Multipart, FindsTheBoundaryOfAContentType) {
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary=edge"), "edge");
  EXPECT_EQ(multipart_boundary("Multipart/Form-Data; charset=utf-8; Boundary=\"a b\""), "a b");
  EXPECT_EQ(multipart_boundary("multipart/form-data"), std::nullopt);
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary="), std::nullopt);
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary=" + std::string(71, 'a')),
            std::nullopt);
  EXPECT_EQ(multipart_boundary("multipart/mixed; boundary=edge"), std::nullopt);
}

}  // namespace
}  // namespace hostler::http
