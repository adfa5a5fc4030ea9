#pragma once
// The checkpoints that a person can choose from: those of this run, and the newest and the best of other runs beside
// it. Looked up by a thread, so that no disk makes a frame wait.

#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include "ui/panels/picture_rows.h"

namespace warpscope::ui {

struct WeightsChoices {
  std::vector<WeightsFile> checkpoints;  ///< of this run, newest first
  std::vector<WeightsFile> runs;         ///< of others that trained the same model, newest run first
  std::vector<std::string> refused;      ///< names of runs that trained another model
};

/// What there is beside `run_dir`, for a network called `model`. Folders that cannot be read hold nothing.
WeightsChoices find_weights(const std::filesystem::path& run_dir, const std::string& model);

class WeightsList {
 public:
  /// Looks again; what was found before stays until it is done.
  void look(const std::string& run_dir, const std::string& model);
  /// True if something has been found since the last call. Never waits.
  bool advance();
  const WeightsChoices& choices() const { return choices_; }

 private:
  std::future<WeightsChoices> job_;
  WeightsChoices choices_;
};

}  // namespace warpscope::ui
