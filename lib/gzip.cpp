// zlib's deflate with a gzip header; see lib/gzip.h.
#include "lib/gzip.h"

#include <zlib.h>

#include <new>

namespace hostler {

std::string gzip(std::string_view text) {
  constexpr int window_bits_of_gzip =
      15 + 16;  // 16: with the header of gzip (zlib.h, deflateInit2)
  constexpr int memory_level = 8;
  z_stream stream{};
  int begun = deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_bits_of_gzip,
                           memory_level, Z_DEFAULT_STRATEGY);
  if (begun != Z_OK) throw std::bad_alloc();
  std::string out(deflateBound(&stream, text.size()), '\0');
  // zlib does not write to its input, but its type says so.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);  // at once: deflateBound() made room for all
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace hostler
