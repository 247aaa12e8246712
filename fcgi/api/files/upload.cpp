// See fcgi/api/files/upload.h.
#include "fcgi/api/files/upload.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fcgi/api/runs/marks.h"
#include "fcgi/http/input.h"
#include "fcgi/http/spooled_body.h"
#include "lib/ascii.h"
#include "lib/control_characters.h"
#include "lib/files/check_client.h"
#include "lib/files/file_types.h"
#include "lib/http/multipart.h"
#include "lib/loop/wait.h"
#include "lib/unicode.h"
#include "lib/utf8.h"

namespace hostler {
namespace {

using Body = std::shared_ptr<const SpooledBody>;

constexpr int64_t type_limit_ms = 5'000;
constexpr size_t name_characters_max = 255;
constexpr int64_t text_bytes_max = 64 << 10;  // of a part that is no file

struct Form {
  std::vector<http::MultipartPart> parts;
  std::string fault;
};

Form read_form(const Body& body, const std::string& boundary) {
  http::MultipartReader reader(boundary);
  for (int64_t at = 0; at < body->bytes(); at += SpooledBody::chunk_bytes) {
    reader.add(body->read(at, SpooledBody::chunk_bytes));
  }
  Form form;
  form.fault = reader.finish();
  form.parts = reader.parts();
  return form;
}

Error overloaded() {
  Error error(ErrorCode::overload_busy, "Try again in a moment.", "no room for an upload");
  error.retry_after_s = 5;
  return error;
}

std::string boundary_of(const Request& request) {
  std::optional<std::string> boundary = http::multipart_boundary(request.content_type);
  if (request.spooled && boundary) return std::move(*boundary);
  std::string_view type = request.content_type;
  if (!is_upload(request)) {
    Error error(ErrorCode::http_unsupported_media_type, "Send multipart/form-data.");
    throw error;
  }
  if (!boundary) {
    throw Error(ErrorCode::http_bad_multipart,
                fmt::format("The Content-Type {:?} has no valid boundary.", type.substr(0, 100)));
  }
  throw Error(ErrorCode::http_request_too_large, "The body is larger than an upload may be.");
}

// The parts that are text, as an object that the readers of other bodies read.
Json texts_of(const Body& body, const std::vector<http::MultipartPart>& parts, Faults& faults) {
  Json::Object members;
  for (const http::MultipartPart& part : parts) {
    if (part.name == "file" || part.name == "purpose") continue;
    std::string field = is_utf8(part.name) ? part.name.substr(0, 64) : "part";
    if (part.name != "end_user" && part.name != "metadata") {
      faults.add(field, "unknown", "is not a part of this form");
      continue;
    }
    bool is_known = std::any_of(members.begin(), members.end(), [&part](const Json::Member& one) {
      return one.first == part.name;
    });
    if (is_known || part.bytes > text_bytes_max) {
      faults.add(field, is_known ? "too_many" : "too_long",
                 is_known ? "must be there once" : "is too long");
      continue;
    }
    std::string text = body->read(part.offset, static_cast<size_t>(part.bytes));
    bool is_json = part.name == "metadata";
    std::optional<Json> value = is_json ? parse_json_or_nothing(text) : std::nullopt;
    if (is_json ? !value : !is_utf8(text)) {
      faults.add(field, "bad_format", is_json ? "must be a JSON object" : "must be UTF-8");
      continue;
    }
    members.emplace_back(part.name, is_json ? std::move(*value) : Json(std::move(text)));
  }
  return Json(std::move(members));
}

// Exactly one part `file`, and not an empty one.
const http::MultipartPart* file_part(const std::vector<http::MultipartPart>& parts,
                                     Faults& faults) {
  const http::MultipartPart* file = nullptr;
  for (const http::MultipartPart& part : parts) {
    if (part.name != "file") continue;
    if (file != nullptr) {
      faults.add("file", "too_many", "must be there once");
      return nullptr;
    }
    file = &part;
  }
  if (file == nullptr) {
    faults.add("file", "required", "is required");
  } else if (file->bytes == 0) {
    faults.add("file", "too_short", "must not be empty");
  }
  return file;
}

// Control characters, ends of lines, and everything that turns the direction of a text.
bool is_removed(std::string_view character) {
  constexpr std::array<std::string_view, 5> marks = {"\xe2\x80\x8e", "\xe2\x80\x8f", "\xd8\x9c",
                                                     "\xe2\x80\xa8", "\xe2\x80\xa9"};
  return has_control(character) || std::find(marks.begin(), marks.end(), character) != marks.end();
}

// A part without a name is a file, too. A name without visible characters is refused.
std::string checked_name(const std::optional<std::string>& sent, Faults& faults) {
  if (!sent) return "file";
  std::string name = file_name_of(*sent);
  size_t count = character_count(name);
  if (count == 0) faults.add("file", "too_short", "must have a name that shows");
  if (count > name_characters_max) {
    faults.add("file", "too_long", "must have a name of at most 255 characters");
  }
  return name;
}

Upload upload_of(const Body& body, const std::vector<http::MultipartPart>& parts) {
  std::shared_ptr<Faults> faults = std::make_shared<Faults>();
  const http::MultipartPart* file = file_part(parts, *faults);
  Json texts = texts_of(body, parts, *faults);
  Fields fields(texts, "", faults);
  Upload upload;
  if (file != nullptr) upload.name = checked_name(file->filename, *faults);
  upload.end_user = fields.optional_text("end_user", end_user_bounds);
  upload.metadata = read_metadata(fields);
  fields.check();
  upload.offset = file->offset;
  upload.bytes = file->bytes;
  return upload;
}

// The bytes of the file, in their order.
struct FileBytes {
  Body body;
  int64_t at;
  int64_t left;

  Task<std::string> next() {
    int64_t count = std::min<int64_t>(left, SpooledBody::chunk_bytes);
    std::string bytes = body->read(at, static_cast<size_t>(count));
    at += count;
    left -= count;
    co_return bytes;
  }
};

Error type_refused(std::string_view found) {
  return Error(ErrorCode::files_type_refused,
               fmt::format("The file is {}. Accepted are {}.", found, files::accepted_types));
}

Error unavailable(std::string cause) {
  Error error(ErrorCode::files_unavailable, "Try again in a moment.", std::move(cause));
  error.retry_after_s = 5;
  return error;
}

}  // namespace

std::string file_name_of(std::string_view sent) {
  std::string_view last = sent.substr(sent.find_last_of("/\\") + 1);
  std::string name;
  std::string clean = utf8_lossy(last);
  for (std::string_view rest = clean; !rest.empty();) {
    std::string_view character = rest.substr(0, utf8_sequence(rest));
    rest.remove_prefix(character.size());
    if (!is_removed(character)) name += character;
  }
  return unicode::nfc(ascii::trimmed(name, ascii::white_space));
}

Task<Upload> read_upload(Call& call) {
  std::string boundary = boundary_of(call.input.request());
  Body body = call.input.request().spooled;
  if (body->is_full()) throw overloaded();
  std::function<Form()> read = [body, boundary] { return read_form(body, boundary); };
  Form form = co_await loop::on_thread(call.loop, std::move(read));
  if (!form.fault.empty()) throw Error(ErrorCode::http_bad_multipart, form.fault);
  co_return upload_of(body, form.parts);
}

Task<std::string_view> type_of_upload(Call& call, const Upload& upload) {
  FileBytes bytes{call.input.request().spooled, upload.offset, upload.bytes};
  files::NextBytes next = [&bytes] { return bytes.next(); };
  files::CheckRequest request{files::CheckRequest::Kind::type, upload.bytes, {}};
  std::string socket = call.input.configured.text("files.socket");
  Task<files::CheckOutcome> asking =
      files::check_file(call.loop, std::move(socket), std::move(request), next, type_limit_ms);
  files::CheckOutcome outcome = co_await asking;
  if (outcome.kind != files::CheckOutcome::Kind::answered) {
    throw unavailable("hostler-files does not tell the type of a file");
  }
  std::string_view type = files::accepted_type(outcome.answer.mime_type);
  if (type.empty()) throw type_refused(outcome.answer.mime_type);
  co_return type;
}

}  // namespace hostler
