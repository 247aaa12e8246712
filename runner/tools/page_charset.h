// Bytes of a page as UTF-8, whatever encoding it is in. Called by the fetcher of our own. Knows the
// encodings of the web by a list: a page cannot name any other converter of the system.
#pragma once

#include <string>
#include <string_view>

namespace hostler::runner {

// The encoding is told by a byte order mark, else by content_type's charset, else (of HTML) by the
// page's own meta element; else it is UTF-8. Bytes that are none of it, and NUL, become U+FFFD.
std::string page_to_utf8(std::string_view bytes, std::string_view content_type, bool is_html);

// The media type in lower case, without parameters.
std::string media_type_of(std::string_view content_type);

}  // namespace hostler::runner
