#pragma once
// Run folders made by hand, as training::RunRecorder writes them.

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include <fmt/format.h>

#include "gpu/files/format.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::tests {

inline std::string step_line(std::uint64_t step, double loss, const std::string& more = "") {
  return fmt::format(
      R"({{"step":{},"epoch":{},"loss":{},"learning_rate":0.00499999989,"images_per_second":{},"seconds":{}{}}})"
      "\n",
      step, static_cast<double>(step) / 10, loss, 100 * step, static_cast<double>(step) / 4, more);
}

inline std::string test_line(std::uint64_t step, double loss, const std::string& more = "") {
  return fmt::format(R"({{"step":{},"epoch":{},"test_loss":{},"psnr":12.5,"seconds":{}{}}})"
                     "\n",
                     step, static_cast<double>(step) / 10, loss, static_cast<double>(step) / 4, more);
}

inline std::string marker_line(std::uint64_t step, const std::string& text) {
  return fmt::format(R"({{"step":{},"seconds":{},"marker":{}}})"
                     "\n",
                     step, static_cast<double>(step) / 4, nlohmann::json(text).dump());
}

/// run.json of a run on the CPU, without results.
inline nlohmann::json run_head(const std::string& status) {
  return {{files::kFormat, files::kRunFormat.number},
          {"status", status},
          {"configuration",
           {{"model", "autoencoder"},
            {"data", "CIFAR-10"},
            {"device", "cpu"},
            {"precision", "fp32"},
            {"optimizer", "sgd"},
            {"batch", 64},
            {"learning_rate", 0.004999999888241291},
            {"chosen", {{"conv2d.forward", "onednn"}, {"relu.forward", "loops"}}}}},
          {"device", {{"kind", "cpu"}, {"name", "AMD EPYC"}}}};
}

inline void make_run(const std::filesystem::path& folder, const nlohmann::json& head,
                     const std::string& lines) {
  write_text(folder / "run.json", head.dump(2) + "\n");
  write_text(folder / "metrics.jsonl", lines);
}

inline void append_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::app) << text;
}

}  // namespace warpscope::tests
