// Images in requests of both forms, and what they count.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "runner/models/anthropic.h"
#include "runner/models/openai.h"

namespace hostler {
namespace {

using testing::HasSubstr;

ImagePart image_of(std::string_view base64, std::string_view detail = "") {
  ImagePart image;
  image.file_id = "f";
  image.detail = detail;
  image.sent_type = "image/png";
  image.base64 = std::make_shared<const std::string>(base64);
  return image;
}

ModelRequest request_of(ProviderKind kind, std::vector<ChatMessage> messages) {
  ModelRequest request;
  request.endpoint = {kind, "", "", "m", false};
  request.messages = std::move(messages);
  return request;
}

TEST(ImageRequest, HasAnImageBetweenItsTextsForOpenAi) {
  ModelRequest request = request_of(
      ProviderKind::openai,
      {{ChatRole::user, Parts{TextPart{"Look:"}, image_of("QUJD", "high"), TextPart{"What?"}}}});
  EXPECT_THAT(openai_request(request).body,
              HasSubstr(R"({"role":"user","content":[{"type":"text","text":"Look:"},)"
                        R"({"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD",)"
                        R"("detail":"high"}},{"type":"text","text":"What?"}]})"));
}

TEST(ImageRequest, LeavesTheDetailToTheProvider) {
  ModelRequest request =
      request_of(ProviderKind::openai, {{ChatRole::user, Parts{image_of("QUJD")}}});
  EXPECT_THAT(openai_request(request).body,
              HasSubstr(R"("content":[{"type":"image_url",)"
                        R"("image_url":{"url":"data:image/png;base64,QUJD"}}])"));
}

TEST(ImageRequest, HasABlockOfBase64ForAnthropic) {
  ModelRequest request =
      request_of(ProviderKind::anthropic,
                 {{ChatRole::user, Parts{TextPart{"Look:"}, image_of("QUJD", "high")}}});
  EXPECT_THAT(anthropic_request(request).body,
              HasSubstr(R"({"type":"text","text":"Look:"},{"type":"image","source":)"
                        R"({"type":"base64","media_type":"image/png","data":"QUJD"})"));
}

TEST(ImageRequest, JoinsMessagesOfTheUserInTheirOrder) {
  for (ProviderKind kind : {ProviderKind::openai, ProviderKind::anthropic}) {
    ModelRequest request =
        request_of(kind, {{ChatRole::user, "First"}, {ChatRole::user, Parts{image_of("QUJD")}}});
    std::string body = kind == ProviderKind::openai ? openai_request(request).body
                                                    : anthropic_request(request).body;
    EXPECT_LT(body.find("First"), body.find("QUJD")) << body;
  }
}

TEST(ImageTokens, CountTheSizeThatIsSent) {
  auto tokens = [](int64_t width, int64_t height) {
    ImagePart image;
    image.width = width;
    image.height = height;
    return image_tokens(image);
  };
  EXPECT_EQ(tokens(0, 0), 85);
  EXPECT_EQ(tokens(100, 100), 85);
  EXPECT_EQ(tokens(1500, 1000), 2000);
  EXPECT_EQ(tokens(1568, 1568), 3278);
  EXPECT_EQ(tokens(7000, 7000), 3278);
  EXPECT_EQ(tokens(1, 50'000'000), 85);
}

TEST(ImageParts, AreReadAsMessagesShowThem) {
  Parts parts = parts_from(
      R"([{"type":"image","file_id":"f","name":"a.png","width":3,"height":4,"detail":"low",)"
      R"("is_deleted":false},{"type":"image","file_id":"g","is_deleted":true}])");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(std::get<ImagePart>(parts[0]).name, "a.png");
  EXPECT_EQ(std::get<ImagePart>(parts[0]).height, 4);
  EXPECT_TRUE(std::get<ImagePart>(parts[1]).is_deleted);
}

TEST(ImageParts, BecomeLinesOfTheirOwn) {
  Parts parts{TextPart{"a"}};
  add_line(parts, "b");
  parts.emplace_back(ImagePart());
  add_line(parts, "c");
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(std::get<TextPart>(parts[0]).text, "a\nb");
  EXPECT_EQ(std::get<TextPart>(parts[2]).text, "c");
}

}  // namespace
}  // namespace hostler
