// See runner/agent/run_images.h.
#include "runner/agent/run_images.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/loop/wait.h"
#include "queries/files.h"
#include "runner/agent/conversation.h"
#include "runner/agent/run_history.h"

namespace hostler::runner {
namespace {

constexpr int64_t check_pause_ms = 250;

bool shows_images(const std::vector<ChatMessage>& messages) {
  return std::any_of(messages.begin(), messages.end(),
                     [](const ChatMessage& message) { return has_images(message.parts); });
}

std::vector<ImagePart*> images_of(std::vector<ChatMessage>& messages) {
  std::vector<ImagePart*> images;
  for (ChatMessage& message : messages) {
    for (Part& part : message.parts) {
      if (ImagePart* image = std::get_if<ImagePart>(&part)) images.push_back(image);
    }
  }
  return images;
}

RunFailure unsupported(const Route& route, const ImagePart& image) {
  if (image.message_id.empty()) {
    return RunFailure("runs.input_unsupported",
                      fmt::format("The model {} takes no images, and the request contains the file "
                                  "{}. Name a route whose input_types contain image.",
                                  route.endpoint.model, image.file_id));
  }
  return RunFailure("runs.input_unsupported",
                    fmt::format("The model {} takes no images, and the message {} contains {} "
                                "({}). Name a route whose input_types contain image.",
                                route.endpoint.model, image.message_id, image.name, image.file_id));
}

// Replaces images by lines of text. words: the line of an image; empty: the image stays.
template <typename Words>
void replace_images(std::vector<ChatMessage>& messages, const Words& words) {
  for (ChatMessage& message : messages) {
    if (!has_images(message.parts)) continue;
    Parts shown;
    for (Part& part : message.parts) {
      const ImagePart* image = std::get_if<ImagePart>(&part);
      const TextPart* text = std::get_if<TextPart>(&part);
      std::string line = image == nullptr ? std::string() : words(*image);
      if (!line.empty()) {
        add_line(shown, line);
      } else if (text != nullptr) {
        add_line(shown, text->text);
      } else {
        shown.push_back(std::move(part));
      }
    }
    message.parts = std::move(shown);
  }
}

Task<postgres::Result> read_files(AgentServices& services, RunPtr run,
                                  std::vector<std::string> file_ids) {
  postgres::Batch batch;
  batch.add(query::FilesSent{.org_id = run->claim.org_id, .file_ids = std::move(file_ids)});
  postgres::Results read = co_await read_with_retry(services, std::move(batch));
  co_return std::move(read.at(0));
}

// Notes in the history what is known of the files now.
void note_files(std::vector<ChatMessage>& history, const std::set<std::string>& asked,
                const postgres::Result& files) {
  std::set<std::string> found;
  std::vector<ImagePart*> images = images_of(history);
  for (int i = 0; i < files.size(); ++i) {
    postgres::Row row = files[i];
    std::string file_id(row.text("id"));
    found.insert(file_id);
    if (row.text("state") == "refused") {
      throw RunFailure("files.refused",
                       fmt::format("The file {} ({}) was refused ({}). Send the message again "
                                   "without it, or with another file.",
                                   row.text("name"), file_id, row.text("refusal")));
    }
    if (row.text("state") != "ready") continue;
    for (ImagePart* image : images) {
      if (image->file_id != file_id) continue;
      image->name = row.text("name");
      image->width = row.integer("width");
      image->height = row.integer("height");
      image->sent_bytes = row.integer("derived_bytes");
    }
  }
  replace_images(history, [&](const ImagePart& image) {
    bool is_gone = asked.contains(image.file_id) && !found.contains(image.file_id);
    return std::string(is_gone ? deleted_image : std::string_view());
  });
}

bool shows_unknown(std::vector<ChatMessage>& history, const std::set<std::string>& file_ids) {
  std::vector<ImagePart*> images = images_of(history);
  return std::any_of(images.begin(), images.end(), [&](const ImagePart* image) {
    return image->sent_bytes == 0 && file_ids.contains(image->file_id);
  });
}

// The first of the images that are sent, oldest first. When they become too many, the newest with
// half of the room stay, so that the next images leave the beginning of the request as it is.
size_t first_sent(const std::vector<ImagePart*>& images) {
  size_t first = 0;
  int64_t bytes = 0;
  for (size_t i = 0; i < images.size(); ++i) {
    bytes += images[i]->sent_bytes;
    if (bytes <= request_image_bytes_max && i - first < request_images_max) continue;
    while (first < i &&
           (bytes > request_image_bytes_max / 2 || i - first >= request_images_max / 2)) {
      bytes -= images[first++]->sent_bytes;
    }
  }
  return first;
}

void leave_out_oldest(std::vector<ChatMessage>& history, std::vector<ChatMessage>& sent) {
  std::vector<ImagePart*> images = images_of(sent);
  size_t first = first_sent(images);
  if (first == 0) return;
  // A file may be in several messages, so the message identifies it.
  std::set<std::pair<std::string, std::string>> left_out;
  for (size_t i = 0; i < first; ++i) {
    left_out.insert({images[i]->message_id, images[i]->file_id});
  }
  if (images[first - 1]->message_id == images.back()->message_id) {
    throw RunFailure(
        "model.context_exceeded",
        fmt::format("The newest images are too many for one request, which takes {} images and "
                    "{} MiB. Send them in several messages.",
                    request_images_max, request_image_bytes_max >> 20));
  }
  replace_images(history, [&](const ImagePart& image) {
    bool is_left_out = left_out.contains({image.message_id, image.file_id});
    return is_left_out ? fmt::format("(The image {} is left out: the conversation has too many.)",
                                     image.name)
                       : std::string();
  });
}

}  // namespace

std::optional<RunFailure> lacks_images(const RunParts& parts, const Route& route) {
  if (route.takes_images || !shows_images(parts.history)) return std::nullopt;
  std::vector<ChatMessage> sent = parts.messages_within(history_bytes_at(parts, route));
  std::vector<ImagePart*> images = images_of(sent);
  if (images.empty()) return std::nullopt;
  return unsupported(route, *images.back());
}

Task<void> await_images(AgentServices& services, RunPtr run, RunParts& parts) {
  if (!shows_images(parts.history)) co_return;
  if (std::optional<RunFailure> failure = lacks_images(parts, parts.route)) throw *failure;
  int64_t limit_ms = services.settings.current()->integer("files.check_seconds") * 1000;
  int64_t end_ms = services.loop.now_ms() + limit_ms;
  for (;;) {
    std::vector<ChatMessage> sent = parts.messages();
    std::set<std::string> unknown;
    const ImagePart* first = nullptr;
    for (const ImagePart* image : images_of(sent)) {
      if (image->sent_bytes > 0) continue;
      if (first == nullptr) first = image;
      unknown.insert(image->file_id);
    }
    if (first == nullptr) {
      leave_out_oldest(parts.history, sent);
      co_return;
    }
    std::vector<std::string> file_ids(unknown.begin(), unknown.end());
    postgres::Result files = co_await read_files(services, run, std::move(file_ids));
    note_files(parts.history, unknown, files);
    bool is_checking = shows_unknown(parts.history, unknown);
    if (!is_checking) continue;
    if (services.loop.now_ms() >= end_ms) {
      throw RunFailure("files.not_ready",
                       fmt::format("The file {} ({}) was not checked in time. Begin another run.",
                                   first->name, first->file_id));
    }
    co_await loop::sleep_ms(services.loop, check_pause_ms);
  }
}

size_t sent_image_bytes(const ModelRequest& request) {
  size_t bytes = 0;
  for (const ChatMessage& message : request.messages) {
    for (const Part& part : message.parts) {
      const ImagePart* image = std::get_if<ImagePart>(&part);
      if (image != nullptr) bytes += static_cast<size_t>(image->sent_bytes) / 3 * 4;
    }
  }
  return bytes;
}

Task<void> load_images(AgentServices& services, RunPtr run, ModelRequest& request) {
  for (ImagePart* image : images_of(request.messages)) {
    postgres::Batch batch;
    batch.add(query::FileDerived{.org_id = run->claim.org_id, .file_id = image->file_id});
    postgres::Results loaded = co_await load_with_retry(services, std::move(batch));
    if (loaded.at(0).empty()) {
      image->is_deleted = true;
      continue;
    }
    postgres::Row row = loaded.at(0).front();
    image->sent_type = row.text("derived_type");
    image->base64 = std::make_shared<const std::string>(row.text("base64"));
  }
  replace_images(request.messages, [](const ImagePart& image) {
    return std::string(image.is_deleted ? deleted_image : std::string_view());
  });
}

}  // namespace hostler::runner
