#include "gpu/runs/inference_figures.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/file.h"
#include "gpu/files/read_json.h"
#include "gpu/files/utf8.h"

namespace warpscope::runs {
namespace {

using nlohmann::json;

constexpr const char* kInferenceFile = "inference.json";

InferenceRank inference_rank(const json& told, const json& layers) {
  InferenceRank rank;
  rank.device = told.at("device").get<std::string>();
  rank.images = told.at("images").get<std::int64_t>();
  rank.seconds = told.at("seconds").get<double>();
  rank.images_per_second = told.at("images_per_second").get<double>();
  const json& times = told.at("milliseconds");
  rank.scatter = times.at("scatter").get<double>();
  rank.read = times.at("read").get<double>();
  rank.to_device = times.at("to_device").get<double>();
  rank.network = times.at("network").get<double>();
  rank.back = times.at("back").get<double>();
  rank.gather = times.at("gather").get<double>();
  rank.idle = times.at("idle").get<double>();
  for (const json& layer : layers) {
    if (layer.contains("median"))
      rank.layers.emplace_back(layer.at("layer").get<std::string>(), layer.at("median").get<double>());
  }
  return rank;
}

InferenceFigures inference_figures(const json& told) {
  InferenceFigures figures;
  figures.data = told.at("data").get<std::string>();
  figures.images = told.at("images").get<std::int64_t>();
  figures.batch = told.at("batch").get<int>();
  figures.seconds = told.at("seconds").get<double>();
  figures.images_per_second = told.at("images_per_second").get<double>();
  if (told.contains("ranks")) {
    for (const json& rank : told.at("ranks"))
      figures.ranks.push_back(inference_rank(rank, rank.at("layers")));
  } else {
    figures.ranks.push_back(inference_rank(told, told.at("microseconds").at("layers")));
  }
  return figures;
}

}  // namespace

std::optional<InferenceFigures> load_inference(const std::filesystem::path& run) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  const std::filesystem::path file = run / kInferenceFile;
  const std::optional<std::string> text = files::read_small_file(file, kMostBytes);
  if (!text) return {};
  try {
    return inference_figures(files::read_json(*text));
  } catch (const json::exception&) {
    throw core::BadInput(
        fmt::format("{} is damaged: it holds no figures of an inference", files::escaped(file.string())));
  }
}

void save_inference(const std::filesystem::path& run, const json& figures) {
  files::write_file_atomically(run / kInferenceFile,
                               figures.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

}  // namespace warpscope::runs
