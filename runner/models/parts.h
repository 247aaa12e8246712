// Parts of a message in their order: text, tool calls, and values that a provider sent for itself
// and wants back. Read from providers by runner/models, stored with a run's turns, sent back in
// later turns. Messages of the user may also have images. Documents will be a further kind.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lib/events/turn_separator.h"
#include "lib/json.h"

namespace hostler {

struct TextPart {
  std::string text;
};

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON text as the model wrote it: it may be wrong
};

// Data of a provider's own: reasoning with its signatures. It goes back as it came, and only to the
// provider and model that sent it. Clients never see it.
struct OpaquePart {
  enum class Place {
    message,  // data: an object, members of the assistant's message (reasoning_content)
    call,     // data: an object, members of the call before this part (extra_content)
    block,    // data: one content block, which stands at this place (thinking)
  };
  Place place = Place::message;
  std::string data;         // JSON text of an object
  std::string origin = {};  // who sent it (origin_of); empty: a client's history, or not known yet
};

// An image that the user uploaded. Its bytes are loaded for each request
// (runner/agent/run_images.h), so that a history holds names only.
struct ImagePart {
  std::string file_id;
  std::string message_id;
  std::string name;
  std::string detail;  // auto, low or high; empty: the provider's choice
  int64_t width = 0;   // of the upload; 0: it was not decoded yet
  int64_t height = 0;
  bool is_deleted = false;
  int64_t sent_bytes = 0;                     // that the model gets; 0: not known yet
  std::string sent_type;                      // of these bytes
  std::shared_ptr<const std::string> base64;  // these bytes; null: they are not loaded
};

using Part = std::variant<TextPart, ToolCall, OpaquePart, ImagePart>;
using Parts = std::vector<Part>;

// All text in order. A blank line separates what was said before a call from what was said after
// it; otherwise nothing stands between two texts.
std::string text_of(const Parts& parts);
std::vector<ToolCall> calls_of(const Parts& parts);
bool has_calls(const Parts& parts);
bool has_opaque(const Parts& parts);
bool has_images(const Parts& parts);
// About as many tokens as providers count for the image in the size that they get. An image of
// unknown size counts least.
int64_t image_tokens(const ImagePart& image);
// A text that stands in a place of its own, so that it does not touch the texts beside it.
void add_line(Parts& parts, std::string_view text);
// Bytes of text, names, ids, arguments and opaque data; of an image four for each of its tokens.
size_t bytes_of(const Parts& parts);
size_t opaque_bytes_of(const Parts& parts);
// Text and calls alone, in that order, without empty text.
Parts parts_of(std::string text, std::vector<ToolCall> calls);

// Removes the calls for which the predicate holds, with their opaque data; text_of() stays.
template <class Predicate>
void erase_calls(Parts& parts, Predicate is_unwanted);

// Removes opaque data of other origins than this one. What a client's history holds has no origin
// and stays.
void keep_opaque_of(Parts& parts, std::string_view origin);
// Says who sent the opaque data whose origin is not known.
void name_origin(Parts& parts, std::string_view origin);
// Names a provider's address and its model. Two with the same name are the same model.
std::string origin_of(std::string_view base_url, std::string_view model);

// The stored form: an array of {type: text, text}, {type: call, id, name, arguments} and
// {type: opaque, place, origin, data}, data being JSON as text. Images are read as messages show
// them: {type: image, file_id, name, width, height, detail, is_deleted}. Reading leaves out what it
// does not know.
std::string parts_json(const Parts& parts);
Parts parts_from(std::string_view json);
Parts parts_read(const Json& stored);

// The arguments as a JSON object: they themselves; {} for nothing, blanks and null; anything else
// as text in the member not_an_object, because providers read them again and refuse the request.
std::string arguments_object(std::string_view arguments);

// Appends the text of a later turn, after a blank line.
void append_turn_text(std::string& all, std::string_view text);
using events::turn_separator;

template <class Predicate>
void erase_calls(Parts& parts, Predicate is_unwanted) {
  std::string text = text_of(parts);
  bool is_erased = false;
  std::erase_if(parts, [&](const Part& part) {
    if (const ToolCall* call = std::get_if<ToolCall>(&part)) return is_erased = is_unwanted(*call);
    const OpaquePart* opaque = std::get_if<OpaquePart>(&part);
    return opaque != nullptr && opaque->place == OpaquePart::Place::call && is_erased;
  });
  if (text_of(parts) == text) return;
  bool is_first = true;
  std::erase_if(parts, [&](Part& part) {
    TextPart* text_part = std::get_if<TextPart>(&part);
    if (text_part == nullptr) return false;
    if (is_first) text_part->text = text;
    return !std::exchange(is_first, false);
  });
}

}  // namespace hostler
