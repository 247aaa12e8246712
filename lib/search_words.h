// The words by which threads are found (GET /v1/threads/search), of titles, messages and what
// somebody types. Made here and not by Postgres' parser: that one takes a path, an address or a
// name with hyphens for one word, in which nobody finds "nginx", and seven times as long.
//
// A word is what stands together of letters, digits and the marks on them, in small letters.
// Chinese, Japanese and Korean text has no spaces: there each pair of characters is a word, and the
// last character, so that words of one and of two characters are found.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hostler {

// Only the beginning of a longer word counts, for the index and for queries.
constexpr size_t search_word_bytes_max = 240;
// Limit of all distinct words of a text; the first ones count. Keeps the index entry of a message
// far below the mebibyte that a tsvector may have.
constexpr size_t search_words_bytes_max = 131072;

// The distinct words in the order of their bytes, a space between them, as words_vector() takes
// them (sql/schema/foundation.sql). Bytes that are no UTF-8 separate.
std::string search_words(std::string_view utf8);

// Converts a typed query into the text of a tsquery. Every word must occur, from three characters
// on at least as the beginning of one. Shorter beginnings would match all words of all tenants that
// begin so, and the index has them together; a character of Chinese, Japanese or Korean is rare
// enough. The first eight words count, without those that begin another one. Empty if the text
// contains no word.
std::string search_query(std::string_view typed_utf8);

}  // namespace hostler
