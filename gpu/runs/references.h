#pragma once
// What a run refers to outside of its folder, by the member "outside" of its run.json:
//
//   {"data_source": {"from_run": "../images", "checksum": "xxh3:.."}, "init": {"from_run": .., "checksum": ..}}
//
// Beside the absolute path, which is a setting of the run, stands the one from the run's folder, for when both were
// moved
// together, and a checksum of the data, or of the weights, that were read.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "gpu/data/known_data.h"

namespace warpscope::runs {

/// A member of "outside".
struct Reference {
  std::string from_run;  ///< as the setting has it, with the path from the run's folder; "" if there is none
  std::string checksum;  ///< "" if nobody knows
};

inline constexpr const char* kOutside = "outside";
/// The member of run.json with the variants that ran by measurement.
inline constexpr const char* kMeasured = "measured";

/// The member of run.json with the number of ranks.
inline constexpr const char* kRanks = "ranks";

/// `path` from the folder of the run; "" if no path leads there.
std::string from_run(const std::filesystem::path& run, const std::filesystem::path& path);

/// As a member of "outside".
nlohmann::json to_json(const Reference& reference);

/// The one of that setting; what the run does not tell is empty.
Reference reference_of(const nlohmann::json& head, const std::string& setting);

/// run.json; an empty object if it is not there or no JSON. Throws core::BadInput if it has another format.
nlohmann::json read_head(const std::filesystem::path& run);

/// How many ranks a run had last; 1 where it does not tell.
int ranks_of(const std::filesystem::path& run);

/// What a run tells of its data.
data::KnownData known_data(const std::filesystem::path& run);

}  // namespace warpscope::runs
