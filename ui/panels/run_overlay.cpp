#include "ui/panels/run_overlay.h"

#include <algorithm>
#include <array>
#include <utility>

namespace warpscope::ui {
namespace {

namespace fs = std::filesystem;

// Sky blue and orange are the present curves', purple its validation, grey the one before a reset.
constexpr std::array<int, kRunColors> kOrder{2, 4, 5, 6, 3, 7, 0, 1};

// An iterator to the run, or the end.
template <class Runs>
auto find_run(Runs& runs, const fs::path& folder) {
  return std::find_if(runs.begin(), runs.end(), [&](const OverlayRun& run) { return run.folder == folder; });
}

}  // namespace

int free_color(std::span<const OverlayRun> runs) {
  std::array<std::size_t, kRunColors> used{};
  for (const OverlayRun& run : runs) ++used[static_cast<std::size_t>(run.color) % kRunColors];
  return *std::min_element(kOrder.begin(), kOrder.end(), [&](int a, int b) {
    return used[static_cast<std::size_t>(a)] < used[static_cast<std::size_t>(b)];
  });
}

fs::path folder_of_runs(const std::string& run_dir) {
  if (run_dir.empty()) return "runs";
  fs::path run = fs::path(run_dir).lexically_normal();
  if (!run.has_filename()) run = run.parent_path();
  const fs::path parent = run.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

const OverlayRun* RunOverlay::find(const fs::path& folder) const {
  const auto found = find_run(runs_, folder);
  return found == runs_.end() ? nullptr : &*found;
}

std::shared_ptr<const RunSettings> RunOverlay::settings() const {
  static const auto kNone = std::make_shared<const RunSettings>();
  return loader_ ? loader_->settings() : kNone;
}

void RunOverlay::show(const fs::path& folder, const std::string& name) {
  if (const auto run = find_run(runs_, folder); run != runs_.end()) {
    run->visible = true;
    return;
  }
  OverlayRun run;
  run.folder = folder;
  run.id = ++last_id_;
  run.name = name;
  run.color = free_color(runs_);
  runs_.push_back(std::move(run));
}

void RunOverlay::hide(const fs::path& folder) {
  if (const auto run = find_run(runs_, folder); run != runs_.end()) run->visible = false;
}

void RunOverlay::recolor(const fs::path& folder, int color) {
  if (const auto run = find_run(runs_, folder); run != runs_.end()) run->color = color;
}

void RunOverlay::remove(const fs::path& folder) {
  const auto run = find_run(runs_, folder);
  if (run == runs_.end()) return;
  removed_.push_back(std::move(*run));
  runs_.erase(run);
}

// Points of another metric or axis would be wrong now; those with another smoothing stay until the new ones come.
void RunOverlay::drop_other_curves(std::span<const CurveChoice> choices) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const bool same = i < request_.choices.size() && choices[i].metric == request_.choices[i].metric &&
                      choices[i].over == request_.choices[i].over;
    for (OverlayRun& run : runs_) {
      run.curves.resize(choices.size());
      if (same) continue;
      run.curves[i] = {};
      run.loaded = false;
    }
  }
}

void RunOverlay::update(const training::Snapshot& snapshot, std::span<const CurveChoice> choices) {
  removed_.clear();
  const std::string present = run_folder_here(snapshot);
  const bool same_run = !request_.folder.empty() && request_.present.native() == present;
  RunRequest request{same_run ? request_.folder : folder_of_runs(present),
                     present,
                     wants_list_,
                     {},
                     {choices.begin(), choices.end()},
                     request_.serial};
  for (const OverlayRun& run : runs_) request.shown.push_back({run.folder, run.id});
  if (!loader_ && (wants_list_ || !runs_.empty())) loader_ = std::make_unique<RunLoader>();
  if (request.choices != request_.choices) ++request.serial;
  drop_other_curves(choices);
  if (loader_ && !(request == request_)) loader_->request(request);
  request_ = std::move(request);
  if (loader_) take_updates();
}

void RunOverlay::take_updates() {
  version_ = loader_->version();
  for (RunUpdate& update : loader_->take()) {
    const auto run =
        std::find_if(runs_.begin(), runs_.end(), [&](const OverlayRun& one) { return one.id == update.id; });
    if (run == runs_.end() || update.serial != request_.serial) continue;
    if (update.points.replace) {
      run->curves = std::move(update.points.curves);
      run->curves.resize(request_.choices.size());  // none of a run that cannot be read
    } else {
      for (std::size_t i = 0; i < run->curves.size(); ++i) run->curves[i].append(update.points.curves[i]);
    }
    run->loaded = true;
    run->error = std::move(update.error);
  }
}

}  // namespace warpscope::ui
