// See lib/search_words.h.
#include "lib/search_words.h"

#include <locale.h>
#include <wctype.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace hostler {
namespace {

constexpr size_t query_words_max = 8;
constexpr size_t prefix_characters_min = 3;

// glibc's knowledge of Unicode, whatever the process' locale is.
struct UnicodeClasses {
  locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  wctype_t mark{};

  UnicodeClasses() {
    if (locale == nullptr) throw std::runtime_error("this system has no locale C.UTF-8");
    mark = wctype_l("combining", locale);
  }
};

const UnicodeClasses& unicode() {
  static const UnicodeClasses classes;
  return classes;
}

bool is_letter(char32_t character) { return iswalnum_l(character, unicode().locale) != 0; }

// Characters that change the letter before them.
bool is_mark(char32_t character) {
  return iswctype_l(character, unicode().mark, unicode().locale) != 0;
}

bool is_of_pairs(char32_t character) {
  return (character >= 0x2E80 && character <= 0x9FFF) ||
         (character >= 0xAC00 && character <= 0xD7AF) ||
         (character >= 0xF900 && character <= 0xFAFF);
}

// The character that the text begins with, and its bytes; what is no UTF-8 is a byte of U+FFFD.
struct Character {
  char32_t code = 0xFFFD;
  size_t size = 1;
};

Character first_character(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char lead = byte(0);
  if (lead < 0x80) return {.code = lead, .size = 1};
  size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (size == 0 || size > text.size()) return {};
  char32_t code = lead & (0xFFU >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  return {.code = code, .size = size};
}

void append(std::string& text, char32_t code) {
  auto put = [&](char32_t byte) { text += static_cast<char>(byte); };
  auto rest = [&](unsigned shift) { put(0x80U | (code >> shift & 0x3FU)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0U | code >> 6U);
  } else if (code < 0x10000) {
    put(0xE0U | code >> 12U);
    rest(6);
  } else {
    put(0xF0U | code >> 18U);
    rest(12);
    rest(6);
  }
  rest(0);
}

struct Word {
  size_t begin = 0;  // in the reader's letters
  size_t size = 0;
  size_t characters = 0;
  bool is_pair = false;  // of Chinese, Japanese or Korean, also a character alone
};

// Reads a text word for word. What was read stays valid as long as the reader.
class WordReader {
 public:
  // is_query: of a row of characters that are read in pairs the last one is no word of its own.
  WordReader(std::string_view text, bool is_query) : rest_(text), is_query_(is_query) {
    letters_.reserve(text.size());
  }

  // Returns false if no further one exists.
  bool next(Word& word) {
    while (!rest_.empty()) {
      Character here = first_character(rest_);
      if (is_of_pairs(here.code) && is_letter(here.code)) {
        if (pair(here, word)) return true;
      } else if (is_word_character(here.code)) {
        return letters(word);
      } else {
        rest_.remove_prefix(here.size);
      }
    }
    return false;
  }

  std::string_view text(const Word& word) const {
    return std::string_view(letters_).substr(word.begin, word.size);
  }

 private:
  static bool is_word_character(char32_t code) {
    if (code >= 0x80) return is_letter(code);
    return (code >= '0' && code <= '9') || (code >= 'a' && code <= 'z') ||
           (code >= 'A' && code <= 'Z');
  }

  // The word of letters that the rest begins with.
  bool letters(Word& word) {
    word = {.begin = letters_.size()};
    while (!rest_.empty()) {
      Character here = first_character(rest_);
      bool goes_on = here.code < 0x80
                         ? is_word_character(here.code)
                         : (!is_of_pairs(here.code) && is_letter(here.code)) || is_mark(here.code);
      if (!goes_on) break;
      rest_.remove_prefix(here.size);
      if (letters_.size() - word.begin + here.size > search_word_bytes_max) continue;
      append_small(here.code);
      ++word.characters;
    }
    word.size = letters_.size() - word.begin;
    return true;
  }

  void append_small(char32_t code) {
    if (code < 0x80) {
      letters_ += static_cast<char>(code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code);
    } else {
      append(letters_, static_cast<char32_t>(towlower_l(code, unicode().locale)));
    }
  }

  // Handles the pair of `here`, with which the rest begins, and the next character. Returns false
  // if no character follows the previous pair and `here` is not a word either.
  bool pair(Character here, Word& word) {
    word = {.begin = letters_.size(), .size = here.size, .characters = 1, .is_pair = true};
    append(letters_, here.code);
    rest_.remove_prefix(here.size);
    Character behind = rest_.empty() ? Character{} : first_character(rest_);
    if (is_of_pairs(behind.code) && is_letter(behind.code)) {
      append(letters_, behind.code);
      word.size += behind.size;
      word.characters = 2;
      is_in_row_ = true;
      return true;
    }
    bool is_word = !is_in_row_ || !is_query_;
    is_in_row_ = false;
    return is_word;
  }

  std::string_view rest_;
  std::string letters_;
  bool is_query_;
  bool is_in_row_ = false;  // the character that comes was the second one of a pair
};

// In a query.
bool counts_as_beginning(const Word& word) {
  return word.is_pair || word.characters >= prefix_characters_min;
}

// The first of equal words, in the order of their bytes.
void keep_distinct(std::vector<std::string_view>& words) {
  std::ranges::sort(words, [](std::string_view a, std::string_view b) {
    return a == b ? a.data() < b.data() : a < b;
  });
  words.erase(std::unique(words.begin(), words.end()), words.end());
}

// The words that come first in the text, as many as count.
void keep_first(std::vector<std::string_view>& words) {
  std::ranges::sort(words, {}, [](std::string_view word) { return word.data(); });
  size_t bytes = 0;
  auto end = std::ranges::find_if(words, [&](std::string_view word) {
    bytes += word.size();
    return bytes > search_words_bytes_max;
  });
  words.erase(end, words.end());
  std::ranges::sort(words);
}

}  // namespace

std::string search_words(std::string_view utf8) {
  WordReader reader(utf8, false);
  std::vector<Word> read;
  for (Word word; reader.next(word);) read.push_back(word);
  std::vector<std::string_view> words;
  words.reserve(read.size());
  for (const Word& word : read) words.push_back(reader.text(word));
  keep_distinct(words);
  size_t bytes = 0;
  for (std::string_view word : words) bytes += word.size();
  if (bytes > search_words_bytes_max) keep_first(words);
  std::string joined;
  joined.reserve(bytes + words.size());
  for (std::string_view word : words) {
    if (!joined.empty()) joined += ' ';
    joined += word;
  }
  return joined;
}

std::string search_query(std::string_view typed_utf8) {
  WordReader reader(typed_utf8, true);
  std::vector<Word> words;
  for (Word word; words.size() < query_words_max && reader.next(word);) {
    // A word that another word covers is not looked up again, because each look-up costs as much as
    // the first.
    auto is_in = [&](const Word& one, const Word& other) {
      std::string_view whole = reader.text(other);
      return counts_as_beginning(one) ? whole.starts_with(reader.text(one))
                                      : whole == reader.text(one);
    };
    if (std::ranges::any_of(words, [&](const Word& other) { return is_in(word, other); })) continue;
    std::erase_if(words, [&](const Word& other) { return is_in(other, word); });
    words.push_back(word);
  }
  std::string query;
  for (const Word& word : words) {
    if (!query.empty()) query += " & ";
    query.append("'").append(reader.text(word)).append("'");
    if (counts_as_beginning(word)) query += ":*";
  }
  return query;
}

}  // namespace hostler
