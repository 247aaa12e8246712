// Country and city of an address, from an MMDB file of the operator (geoip.database). Owner of
// libmaxminddb. May be asked from several threads. Without a file every answer is empty.
#pragma once

#include <memory>
#include <string>

struct MMDB_s;

namespace hostler::runner {

struct GeoLocation {
  std::string country;  // ISO 3166 alpha-2
  std::string city;     // in English
};

class GeoLookup {
 public:
  // An empty path means no file. A file that cannot be used is logged, and look-ups then find
  // nothing.
  explicit GeoLookup(const std::string& path);
  ~GeoLookup();
  GeoLookup(const GeoLookup&) = delete;
  GeoLookup& operator=(const GeoLookup&) = delete;

  GeoLocation of(const std::string& address) const;

 private:
  std::unique_ptr<MMDB_s> file_;
};

}  // namespace hostler::runner
