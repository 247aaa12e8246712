// Country and city of an address, from an MMDB file of the operator (geoip.database). Owner of
// libmaxminddb. May be asked from several threads. Without a file every answer is empty.
#pragma once

#include <memory>
#include <string>

struct MMDB_s;

namespace hostler::runner {

struct Place {
  std::string country;  // ISO 3166 alpha-2
  std::string city;     // in English
};

class PlaceLookup {
 public:
  // An empty path: no file. One that cannot be used is logged, and there is none.
  explicit PlaceLookup(const std::string& path);
  ~PlaceLookup();
  PlaceLookup(const PlaceLookup&) = delete;
  PlaceLookup& operator=(const PlaceLookup&) = delete;

  Place of(const std::string& address) const;

 private:
  std::unique_ptr<MMDB_s> file_;
};

}  // namespace hostler::runner
