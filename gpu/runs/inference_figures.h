#pragma once
// What the last inference with a run's weights told of itself, in RUN/inference.json: figures_of() of
// gpu/inference/report.h.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warpscope::runs {

/// Where the time of a rank went, in milliseconds. Copies, network and idle are of its device; what stands before and
/// between them is of the host.
struct InferenceRank {
  std::string device;
  std::int64_t images = 0;
  double seconds = 0;
  double images_per_second = 0;
  double scatter = 0, read = 0, to_device = 0, network = 0, back = 0, gather = 0, idle = 0;
  std::vector<std::pair<std::string, double>> layers;  ///< and what a batch takes in each, microseconds
};

struct InferenceFigures {
  std::string data;
  std::int64_t images = 0;
  int batch = 0;
  double seconds = 0;
  double images_per_second = 0;
  std::vector<InferenceRank> ranks;  ///< one at the least
};

/// The figures; nothing where there are none. Throws core::BadInput where they are damaged.
std::optional<InferenceFigures> load_inference(const std::filesystem::path& run);

/// Replaces the file whole. Throws core::Error.
void save_inference(const std::filesystem::path& run, const nlohmann::json& figures);

}  // namespace warpscope::runs
