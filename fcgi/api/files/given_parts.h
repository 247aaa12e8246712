// Content of a message in the forms of other protocols, whose images are data: URLs or name files of
// the caller. Used by the readers of chat completions, responses, the AI SDK and AG-UI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fcgi/http/input.h"
#include "lib/config/settings.h"
#include "lib/json.h"

namespace hostler {

// Settings that bound a file which a request has in itself.
struct UploadLimits {
  int64_t file_bytes = 0;
  int64_t stored_bytes = 0;
  int64_t upload_bytes_per_day = 0;
};
UploadLimits upload_limits(const config::Settings& settings);

struct GivenImage {
  std::string_view source;       // a data: URL, the id of a file, or the URL of its content
  std::string_view name = {};    // that the client gives; empty: none
  const Json* detail = nullptr;  // auto, low or high; absent or null: the provider's choice
};

class GivenParts {
 public:
  explicit GivenParts(const UploadLimits& limits);

  void add_text(std::string_view text);
  // field: the name of the source within the fields. Adds a fault for what is no image, and for an
  // address that Hostler would have to fetch.
  void add_image(Fields& fields, const std::string& field, const GivenImage& image);

  bool has_images() const { return images_ > 0; }
  size_t count() const { return count_; }
  // JSON array as file_parts_taken() reads it (sql/schema/message_files.sql), once. Nothing when
  // all of it is text.
  std::optional<std::string> take();

 private:
  void write_upload(Fields& fields, const std::string& field, const GivenImage& image);

  UploadLimits limits_;
  JsonWriter json_;
  size_t count_ = 0;
  size_t images_ = 0;
};

}  // namespace hostler
