// See runner/agent/run_images.h.
#include "runner/agent/run_images.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "lib/loop/wait.h"
#include "queries/files.h"
#include "runner/agent/run_history.h"
#include "runner/models/run_failure.h"

namespace hostler::runner {
namespace {

constexpr int64_t check_pause_ms = 250;

std::vector<ImagePart*> images_of(ModelRequest& request) {
  std::vector<ImagePart*> images;
  for (ChatMessage& message : request.messages) {
    for (Part& part : message.parts) {
      if (ImagePart* image = std::get_if<ImagePart>(&part)) images.push_back(image);
    }
  }
  return images;
}

RunFailure unsupported(const ModelRequest& request, const ImagePart& image) {
  return RunFailure(
      "runs.input_unsupported",
      fmt::format("The model {} does not take images. The message {} contains the "
                  "file {} ({}). Choose a model whose input_types contain image.",
                  request.endpoint.model, image.message_id, image.name, image.file_id));
}

Task<postgres::Result> read_image(AgentServices& services, const ImagePart& image) {
  postgres::Batch batch;
  batch.add(query::FileDerived{.file_id = image.file_id});
  postgres::Results loaded = co_await load_with_retry(services, std::move(batch));
  co_return std::move(loaded.at(0));
}

// What is known of it now. True: it is loaded, or gone; false: it is still being checked.
bool take_image(const postgres::Result& read, ImagePart& image) {
  if (read.empty()) {
    image.is_deleted = true;
    return true;
  }
  postgres::Row row = read.front();
  if (row.text("state") == "checking") return false;
  if (row.text("state") == "refused") {
    throw RunFailure("files.refused", fmt::format("The file {} ({}) was refused: {}.", image.name,
                                                  image.file_id, row.text("refusal")));
  }
  image.sent_type = row.text("derived_type");
  image.base64 = std::make_shared<const std::string>(to_base64(row.bytes("image")));
  image.width = row.integer("width");
  image.height = row.integer("height");
  return true;
}

Task<void> load_image(AgentServices& services, ImagePart& image) {
  int64_t limit_ms = services.settings.current()->integer("files.check_seconds") * 1000;
  int64_t end_ms = services.loop.now_ms() + limit_ms;
  for (;;) {
    postgres::Result read = co_await read_image(services, image);
    if (take_image(read, image)) co_return;
    if (services.loop.now_ms() >= end_ms) {
      throw RunFailure("files.not_ready",
                       fmt::format("The file {} ({}) was not checked in time. Try again later.",
                                   image.name, image.file_id));
    }
    co_await loop::sleep_ms(services.loop, check_pause_ms);
  }
}

// Files that were deleted since the history was read.
void replace_deleted(ModelRequest& request) {
  for (ChatMessage& message : request.messages) {
    for (Part& part : message.parts) {
      const ImagePart* image = std::get_if<ImagePart>(&part);
      if (image != nullptr && image->is_deleted) part = TextPart{std::string(deleted_image)};
    }
  }
}

}  // namespace

Task<void> load_images(AgentServices& services, const RunParts& parts, ModelRequest& request) {
  std::vector<ImagePart*> images = images_of(request);
  if (images.empty()) co_return;
  if (!parts.takes_images) throw unsupported(request, *images.front());
  for (ImagePart* image : images) co_await load_image(services, *image);
  replace_deleted(request);
}

}  // namespace hostler::runner
