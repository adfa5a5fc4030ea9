#pragma once
// The names that a person gave to markers of a run, in RUN/markers.json:
// {"names": [{"step": 1200, "text": "fp32 -> bf16", "name": "half the bits"}]}.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warpscope::runs {

/// A marker is known by its step and its text.
struct MarkerName {
  std::uint64_t step = 0;
  std::string text;
  std::string name;
  bool operator==(const MarkerName&) const = default;
};

/// "" if the marker has none.
std::string_view name_of(std::span<const MarkerName> names, std::uint64_t step, std::string_view text);

/// Names the marker, anew if it has a name; "" takes the name away.
void set_name(std::vector<MarkerName>& names, std::uint64_t step, std::string_view text,
              std::string_view name);

/// None if the run has no such file. Throws core::BadInput if it is damaged.
std::vector<MarkerName> load_marker_names(const std::filesystem::path& run);

/// Replaces the file whole. Throws core::Error.
void save_marker_names(const std::filesystem::path& run, std::span<const MarkerName> names);

}  // namespace warpscope::runs
