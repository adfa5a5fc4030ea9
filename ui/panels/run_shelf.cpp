#include "ui/panels/run_shelf.h"

#include <algorithm>
#include <array>
#include <utility>

namespace warpscope::ui {
namespace {

namespace fs = std::filesystem;

// Sky blue and orange are the present curves', purple its validation, grey the one before a reset.
constexpr std::array<int, kRunColors> kOrder{2, 4, 5, 6, 3, 7, 0, 1};

// In a vector, const or not.
template <class Runs>
auto find_run(Runs& runs, const fs::path& folder) {
  return std::find_if(runs.begin(), runs.end(), [&](const ShelfRun& run) { return run.folder == folder; });
}

}  // namespace

int free_color(std::span<const ShelfRun> runs) {
  std::array<std::size_t, kRunColors> used{};
  for (const ShelfRun& run : runs) ++used[static_cast<std::size_t>(run.color) % kRunColors];
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

const ShelfRun* RunShelf::find(const fs::path& folder) const {
  const auto found = find_run(runs_, folder);
  return found == runs_.end() ? nullptr : &*found;
}

std::shared_ptr<const RunSettings> RunShelf::settings() const {
  static const auto kNone = std::make_shared<const RunSettings>();
  return loader_ ? loader_->settings() : kNone;
}

void RunShelf::show(const fs::path& folder, const std::string& name) {
  if (const auto run = find_run(runs_, folder); run != runs_.end()) {
    run->visible = true;
    return;
  }
  ShelfRun run;
  run.folder = folder;
  run.id = ++last_id_;
  run.name = name;
  run.color = free_color(runs_);
  runs_.push_back(std::move(run));
}

void RunShelf::hide(const fs::path& folder) {
  if (const auto run = find_run(runs_, folder); run != runs_.end()) run->visible = false;
}

void RunShelf::recolor(const fs::path& folder, int color) {
  if (const auto run = find_run(runs_, folder); run != runs_.end()) run->color = color;
}

void RunShelf::remove(const fs::path& folder) {
  std::erase_if(runs_, [&](const ShelfRun& run) { return run.folder == folder; });
}

void RunShelf::update(const training::Snapshot& snapshot, const CurveChoice& choice) {
  const bool same_run = !wish_.folder.empty() && wish_.present.native() == snapshot.run_dir;
  RunWish wish{same_run ? wish_.folder : folder_of_runs(snapshot.run_dir),
               snapshot.run_dir,
               wants_list_,
               {},
               choice,
               wish_.serial};
  for (const ShelfRun& run : runs_) wish.shown.push_back({run.folder, run.id});
  if (!loader_ && (wants_list_ || !runs_.empty())) loader_ = std::make_unique<RunLoader>();
  if (!(choice == wish_.choice)) ++wish.serial;
  // Values of another metric or places on another axis would be lies; another average is merely late.
  if (choice.metric != wish_.choice.metric || choice.over != wish_.choice.over) {
    for (ShelfRun& run : runs_) {
      run.curves = {};
      run.loaded = false;
    }
  }
  if (loader_ && !(wish == wish_)) loader_->want(wish);
  wish_ = std::move(wish);
  if (loader_) take_news();
}

void RunShelf::take_news() {
  version_ = loader_->version();
  for (RunNews& news : loader_->take()) {
    const auto run =
        std::find_if(runs_.begin(), runs_.end(), [&](const ShelfRun& one) { return one.id == news.id; });
    if (run == runs_.end() || news.serial != wish_.serial) continue;
    if (news.gain.anew) {
      run->curves = std::move(news.gain.curves);
    } else {
      run->curves.append(news.gain.curves);
    }
    run->loaded = true;
    run->trouble = std::move(news.trouble);
  }
}

}  // namespace warpscope::ui
