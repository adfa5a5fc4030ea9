#include "ui/jobs/map_controller.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "ui/jobs/features_controller.h"
#include "ui/text/numbers.h"
#include "ui/text/terms.h"

namespace warpscope::ui {
namespace {

constexpr std::array<std::int64_t, 4> kCounts{300, 1000, 3000, 10'000};

ValueSpec spec_of(const char* name, const char* label, const char* tip, const ValueLimits& limits,
                  const ValueScale& scale) {
  ValueSpec spec;
  spec.name = std::string(name);
  spec.label = std::string(label);
  spec.tip = label_tip(label, tip);
  spec.limits = limits;
  spec.scale = scale;
  return spec;
}

}  // namespace

std::span<const LatentMethod> latent_methods() {
  static const std::vector<LatentMethod> kMethods = [] {
    std::vector<LatentMethod> methods{{"", "PCA"}};
    for (const maps::MapKind& kind : maps::map_table())
      methods.push_back({std::string(kind.name), std::string(kind.title)});
    return methods;
  }();
  return kMethods;
}

maps::MapOptions map_options(const MapChoice& choice) {
  maps::MapOptions options;
  options.tsne.perplexity = choice.perplexity;
  options.umap.n_neighbors = static_cast<int>(std::lround(choice.neighbours));
  options.umap.min_dist = choice.min_dist;
  return options;
}

std::span<const MapNumber> map_numbers() {
  constexpr const char* kTip = "Let the slider go, and the map is made anew from the same features.";
  static const std::array kNumbers{
      MapNumber{"tsne", &MapChoice::perplexity,
                spec_of("latent.perplexity", "perplexity", kTip, {1, 300, true}, {5, 100, true})},
      MapNumber{"umap", &MapChoice::neighbours,
                spec_of("latent.neighbours", "neighbours", kTip, {2, 500, false, false, true},
                        {5, 100, true, false, true})},
      MapNumber{"umap", &MapChoice::min_dist, spec_of("latent.min_dist", "min_dist", kTip, {0, 1}, {0, 1})},
  };
  return kNumbers;
}

std::vector<std::int64_t> map_counts(std::int64_t all) {
  std::vector<std::int64_t> counts;
  for (const std::int64_t count : kCounts) {
    if (all == 0 || count < all) counts.push_back(count);
  }
  if (all > 0 && all <= kCounts.back()) counts.push_back(all);
  return counts;
}

std::string map_count_text(std::int64_t images) {
  return images == 0 ? std::string("auto") : with_thousands(images);
}

std::string map_text(const features::MapPicture& map) {
  const features::MapFacts& facts = *map.facts;
  const std::int64_t all = facts.subject.data ? facts.subject.data->test.count : facts.images;
  const std::string part = facts.images < all ? with_thousands(facts.images) + " of " : "";
  return fmt::format("{}{}, {} each, step {}", part, files::counted(all, "image"),
                     files::counted(facts.columns, "number"), with_thousands(facts.subject.step));
}

std::string map_note(const features::MapPicture& map) {
  const maps::MapKind& kind = maps::find_map(map.facts->method);
  return fmt::format(
      "{} of what layer {} makes of the first test images. {} Near points are alike; far distances and the "
      "axes mean nothing. It begins at the first two principal components.",
      kind.title, map.facts->layers, kind.summary);
}

std::string map_age(const features::MapPicture& map, const training::Snapshot& snapshot) {
  if (!snapshot.can.steer || !snapshot.can.look_inside || snapshot.step == map.facts->subject.step) return "";
  if (snapshot.step < map.facts->subject.step) return "from before the reset";
  const std::uint64_t steps = snapshot.step - map.facts->subject.step;
  return files::counted(static_cast<std::int64_t>(steps), "step") + " ago";
}

std::string map_time_left(const features::MapState& state) {
  if (!state.busy || state.phase != features::FeatureMap::kMoving || !state.map) return "";
  const features::MapPicture& map = *state.map;
  return time_left(static_cast<double>(map.iteration) / map.iterations, map.seconds);
}

std::vector<JobFigure> map_figures(const features::MapPicture& map) {
  std::vector<JobFigure> figures;
  const features::MapFacts& facts = *map.facts;
  figures.push_back(
      {"step", with_thousands(facts.subject.step), "", "The training step whose weights made the features."});
  figures.push_back({"iterations", with_thousands(map.iteration),
                     fmt::format("of {}", with_thousands(map.iterations)),
                     "How often all points have moved."});
  if (map.objective) {
    figures.push_back(
        {"divergence", fmt::format("{:.3f}", *map.objective), "nats",
         "KL divergence of the map's neighbourhoods from those of the features, which t-SNE makes small."});
  }
  const auto seconds = [&](const char* label, double value, const char* tip) {
    if (value > 0) figures.push_back({label, seconds_text(value), "", tip});
  };
  seconds("features", facts.feature_seconds, "What the features of the images took, and their components.");
  seconds("search", facts.begin_seconds, "What finding the neighbours of each image took.");
  seconds("moving", map.seconds, "What the iterations have taken.");
  return figures;
}

std::string MapController::why_not(const Frame& frame) const {
  std::string reason = why_no_features(frame, model());
  if (!reason.empty() || !frame.snapshot.can.steer) return reason;
  constexpr std::int64_t kLeast = 4;
  return frame.snapshot.data->test.count < kLeast ? "There are too few test images for a map." : "";
}

void MapController::update(const Frame& frame) {
  begin_frame(frame);
  if (const auto& map = state().map) maps_[map->facts->method] = map;
}

std::shared_ptr<const features::MapPicture> MapController::map() const {
  const auto found = maps_.find(method_);
  return found == maps_.end() ? nullptr : found->second;
}

void MapController::choose(const Frame& frame, const std::string& method) {
  show(method);
  const bool coming = state().busy && state().method == method;
  if (!method.empty() && !map() && !coming) make(frame);
}

void MapController::make(const Frame& frame) {
  if (!method_.empty() && why_not(frame).empty())
    ask(jobs::MakeMap{method_, map_options(choice), choice.images, false});
}

void MapController::make_again() {
  if (map()) ask(jobs::MakeMap{method_, map_options(choice), choice.images, true});
}

}  // namespace warpscope::ui
