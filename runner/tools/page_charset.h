// Bytes of a page as UTF-8, whatever encoding it is in. Called by the fetcher of our own. Knows the
// encodings of the web by a list: a page cannot name any other converter of the system.
#pragma once

#include <string>
#include <string_view>

namespace hostler::runner {

// A byte order mark names the encoding, else content_type's charset, else (of HTML) the page's own
// meta element; else it is UTF-8. Invalid bytes and NUL become U+FFFD.
std::string page_to_utf8(std::string_view bytes, std::string_view content_type, bool is_html);

// The media type in lower case, without parameters.
std::string media_type_of(std::string_view content_type);

}  // namespace hostler::runner
