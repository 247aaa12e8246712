// MMDB files asked; see runner/access_log/geo_lookup.h.
#include "runner/access_log/geo_lookup.h"

#include <arpa/inet.h>
#include <maxminddb.h>
#include <netinet/in.h>

#include <cstring>

#include "lib/log.h"
#include "lib/net/address_guard.h"

namespace hostler::runner {
namespace {

constexpr size_t name_bytes_max = 200;

// The text at the path of names, or empty.
template <class... Names>
std::string text_at(MMDB_entry_s& entry, Names... names) {
  MMDB_entry_data_s found{};
  int status = MMDB_get_value(&entry, &found, names..., nullptr);
  bool is_text =
      status == MMDB_SUCCESS && found.has_data && found.type == MMDB_DATA_TYPE_UTF8_STRING;
  if (!is_text) return {};
  return {found.utf8_string, std::min<size_t>(found.data_size, name_bytes_max)};
}

}  // namespace

GeoLookup::GeoLookup(const std::string& path) {
  if (path.empty()) return;
  std::unique_ptr<MMDB_s> opened = std::make_unique<MMDB_s>();
  int status = MMDB_open(path.c_str(), MMDB_MODE_MMAP, opened.get());
  if (status == MMDB_SUCCESS) {
    file_ = std::move(opened);
  } else {
    log_error("geoip_not_read", {{"path", path}, {"cause", MMDB_strerror(status)}});
  }
}

GeoLookup::~GeoLookup() {
  if (file_) MMDB_close(file_.get());
}

GeoLocation GeoLookup::of(const std::string& address) const {
  std::optional<net::IpAddress> parsed = file_ ? net::IpAddress::parse(address) : std::nullopt;
  if (!parsed) return {};
  sockaddr_storage socket{};
  if (parsed->is_v4) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    std::memcpy(&v4.sin_addr, parsed->bytes.data(), sizeof v4.sin_addr);
    std::memcpy(&socket, &v4, sizeof v4);
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    std::memcpy(&v6.sin6_addr, parsed->bytes.data(), sizeof v6.sin6_addr);
    std::memcpy(&socket, &v6, sizeof v6);
  }
  int status = MMDB_SUCCESS;
  MMDB_lookup_result_s found =
      MMDB_lookup_sockaddr(file_.get(), reinterpret_cast<const sockaddr*>(&socket), &status);
  if (status != MMDB_SUCCESS || !found.found_entry) return {};
  return {text_at(found.entry, "country", "iso_code"), text_at(found.entry, "city", "names", "en")};
}

}  // namespace hostler::runner
