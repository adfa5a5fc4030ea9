#include "ui/panels/weights_list.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "gpu/files/file.h"
#include "gpu/runs/checkpoint_store.h"
#include "gpu/runs/run_reader.h"
#include "ui/panels/run_overlay.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostHeadBytes = std::size_t{4} << 20;
constexpr std::size_t kMostRuns = 50;
constexpr const char* kBest = "best.safetensors";

std::string model_of(const fs::path& run) {
  const auto text = files::read_small_file(run / "run.json", kMostHeadBytes);
  const auto head = nlohmann::json::parse(text.value_or(""), nullptr, false);
  const nlohmann::json::json_pointer place("/configuration/model");
  if (!head.is_object() || !head.contains(place) || !head.at(place).is_string()) return "";
  return head.at(place).get<std::string>();
}

std::optional<WeightsFile> best_of(const fs::path& run, const std::string& name) {
  const fs::path best = training::checkpoint_folder(run) / kBest;
  std::error_code failure;
  if (!fs::exists(best, failure)) return std::nullopt;
  return WeightsFile{best.string(), name};
}

void add_run(const fs::path& run, const std::string& model, WeightsChoices& choices) {
  const auto files = training::list_checkpoints(run);
  const std::string name = runs::run_name(run);
  const auto best = best_of(run, name + ", best");
  if (files.empty() && !best) return;
  if (const std::string other = model_of(run); other != model && !other.empty()) {
    choices.refused.push_back(name + " trained " + other);
    return;
  }
  if (!files.empty()) {
    choices.runs.push_back(
        {files.front().path.string(), name + ", step " + with_thousands(files.front().step)});
  }
  if (best) choices.runs.push_back(*best);
}

}  // namespace

WeightsChoices find_weights(const fs::path& run_dir, const std::string& model) {
  WeightsChoices choices;
  if (!run_dir.empty()) {
    if (const auto best = best_of(run_dir, "best checkpoint")) choices.checkpoints.push_back(*best);
    for (const training::CheckpointFile& file : training::list_checkpoints(run_dir)) {
      choices.checkpoints.push_back({file.path.string(), "step " + with_thousands(file.step)});
    }
  }
  std::vector<fs::path> folders;
  std::error_code failure;
  const fs::path parent = folder_of_runs(run_dir.string());
  for (fs::directory_iterator entry(parent, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    std::error_code other;
    if (!run_dir.empty() && fs::equivalent(entry->path(), run_dir, other)) continue;
    folders.push_back(entry->path());
  }
  std::sort(folders.begin(), folders.end(), std::greater<>());
  if (folders.size() > kMostRuns) folders.resize(kMostRuns);
  for (const fs::path& folder : folders) add_run(folder, model, choices);
  return choices;
}

void WeightsList::look(const std::string& run_dir, const std::string& model) {
  if (job_.valid()) return;
  job_ = std::async(std::launch::async, [run_dir, model] { return find_weights(run_dir, model); });
}

bool WeightsList::advance() {
  if (!job_.valid() || job_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
  choices_ = job_.get();
  return true;
}

}  // namespace warpscope::ui
