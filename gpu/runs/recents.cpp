#include "gpu/runs/recents.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>
#include <variant>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/files/read_json.h"
#include "gpu/runs/checkpoint_store.h"
#include "gpu/runs/run_figures.h"
#include "gpu/runs/run_images.h"

namespace warpscope::runs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPieceBytes = 4096;  ///< holds several lines

/// The first whole line of `piece` that tells of a training step. `at_line`: the piece begins with a line.
std::optional<LossPoint> step_in(std::string_view piece, bool at_line) {
  if (!at_line) {
    const std::size_t first = piece.find('\n');
    if (first == std::string_view::npos) return {};
    piece.remove_prefix(first + 1);
  }
  for (std::size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
    const nlohmann::json line = files::read_json(piece.substr(0, end));
    piece.remove_prefix(end + 1);
    if (!line.is_object()) continue;
    const auto item = training::item_of(line);
    const auto* const point = item ? std::get_if<training::Point>(&*item) : nullptr;
    if (point == nullptr || point->split != training::Split::train) continue;
    const auto loss = static_cast<double>((*point)[training::Metric::loss]);
    if (std::isfinite(loss)) return LossPoint{point->step, loss};
  }
  return {};
}

fs::path newest_picture(const fs::path& run) {
  const training::ImageIndex index = training::read_image_index(run);
  if (index.pictures.empty()) return {};
  const fs::path file = run / "images" / training::picture_name(index.pictures.back().step);
  std::error_code error;
  return fs::is_regular_file(file, error) ? file : fs::path();
}

std::string end_of(const RunSummary& run) {
  const bool has_ended = run.status == "finished" || run.status == "failed";
  return has_ended && run.steps > 0 && !std::isfinite(run.final_train_loss) ? "diverged" : run.status;
}

RecentTraining recent_of(RunSummary run) {
  RecentTraining recent;
  recent.run = std::move(run);
  const fs::path& folder = recent.run.folder;
  recent.end = end_of(recent.run);
  recent.problem = !recent.run.error.empty()   ? recent.run.error
                   : !recent.run.notes.empty() ? recent.run.notes.front()
                                               : std::string();
  const bool readable = recent.run.status != "refused";
  recent.can_go_on =
      readable && recent.run.status != "running" && !training::list_checkpoints(folder).empty();
  if (!readable) return recent;
  try {
    recent.curve = thinned_losses(folder);
    recent.picture = newest_picture(folder);
  } catch (const std::exception&) {
    // A run without pictures, as of a network that classifies, or with damaged ones, has none.
  }
  return recent;
}

}  // namespace

std::vector<LossPoint> thinned_losses(const fs::path& run) {
  const auto file = files::InputFile::open(run / "metrics.jsonl");
  if (!file) return {};
  std::vector<LossPoint> points;
  const auto pieces = static_cast<std::int64_t>(kCurvePoints);
  for (std::int64_t i = 0; i < pieces; ++i) {
    const std::int64_t offset = file->size() / pieces * i;
    const auto point = step_in(file->read_up_to(offset, kPieceBytes), offset == 0);
    if (point) points.push_back(*point);
  }
  // What lies before a reset has steps that are not below those behind it.
  std::vector<LossPoint> present;
  for (const LossPoint& point : std::views::reverse(points)) {
    if (present.empty() || point.step < present.back().step) {
      present.push_back(point);
    } else if (point.step > present.back().step) {
      break;
    }
  }
  std::reverse(present.begin(), present.end());
  return present;
}

std::vector<RecentTraining> recent_trainings(const fs::path& folder, std::size_t most) {
  std::vector<RecentTraining> recents;
  try {
    std::vector<RunSummary> runs = list_runs(folder);
    if (runs.size() > most) runs.resize(most);
    for (RunSummary& run : runs) recents.push_back(recent_of(std::move(run)));
  } catch (const core::Error&) {
    return recents;
  }
  return recents;
}

}  // namespace warpscope::runs
