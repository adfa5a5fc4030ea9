#include "gpu/features/feature_map.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gpu/core/phases.h"
#include "gpu/features/extractor.h"
#include "gpu/features/part_of.h"
#include "gpu/inspect/pca.h"

namespace warpscope::features {
namespace {

using classifiers::Watch;

constexpr std::int64_t kMostOnCpu = 1000, kMostOnGpu = 3000;
constexpr std::int64_t kComponentRows = 512;
constexpr int kMostStep = 64;                            // iterations of one call
constexpr double kShortStep = 0.01;                      // seconds
constexpr double kFeaturesPart = 0.3, kBegunPart = 0.5;  // of all work, roughly

}  // namespace

std::int64_t mapped_most(core::DeviceKind kind) {
  return kind == core::DeviceKind::cpu ? kMostOnCpu : kMostOnGpu;
}

/// What the next map may use again, and what it was made for.
struct FeatureMap::Kept {
  Subject subject;
  FeatureLayers layers;
  std::int64_t images = 0;
  core::Buffer values;  ///< (images, columns)
  std::vector<float> places;
  double seconds = 0;

  int columns() const { return columns_of(layers); }
  bool serves(const MapRequest& request, std::int64_t most) const {
    const Subject& wanted = request.subject;
    return wanted.parameters && wanted.parameters == subject.parameters && wanted.data == subject.data &&
           wanted.precision == subject.precision && images == std::min(most, subject.data->test.count) &&
           to_string(parse_feature_layers(request.layers, wanted.model)) == to_string(layers);
  }
};

FeatureMap::FeatureMap(std::shared_ptr<core::Device> device)
    : device_(std::move(device)), stream_(device_->make_stream()), place_{device_, stream_.get()} {}

FeatureMap::~FeatureMap() = default;

void FeatureMap::forget() {
  kept_.reset();
}

bool FeatureMap::prepare_rows(const MapRequest& request, const Watch& watch) {
  const std::int64_t most = request.images > 0 ? request.images : mapped_most(device_->kind());
  if (kept_ && kept_->serves(request, most)) return false;
  kept_.reset();  // so that there is room
  if (watch.progress) watch.progress(0, "reading the network");
  auto kept = std::make_unique<Kept>();
  const auto start = core::Clock::now();
  kept->subject = loaded(request.subject);
  const Subject& subject = kept->subject;
  kept->layers = parse_feature_layers(request.layers, subject.model);
  const data::ImageSet set = first_of(subject.data->whole->test, most);
  kept->images = set.count;
  kept->values = features_of(set, subject.model, *subject.parameters, kept->layers, {subject.precision, {}},
                             place_, part_of(watch, 0, 0.8));
  if (watch.progress) watch.progress(0.8, "principal components");
  const auto host =
      core::download<float>(*stream_, kept->values.data(), kept->values.bytes() / sizeof(float));
  kept->places = first_places(host, kept->images, kept->columns());
  kept->seconds = core::seconds_since(start);
  kept_ = std::move(kept);
  return true;
}

void FeatureMap::make(const MapRequest& request,
                      const std::function<void(const std::shared_ptr<const MapPicture>&)>& moved,
                      const Watch& watch) {
  if (watch.stop.stop_requested()) throw classifiers::Cancelled();
  const maps::MapKind& kind = maps::find_map(request.method);
  const bool fresh = prepare_rows(request, part_of(watch, 0, kFeaturesPart));
  const double begun = fresh ? kFeaturesPart : 0;
  maps::MapOptions options = request.options;
  options.initial = kept_->places;
  const auto start = core::Clock::now();
  const auto map = kind.make(place_, {kept_->values.as<const float>(), kept_->images, kept_->columns()},
                             options, part_of(watch, begun, kBegunPart));
  auto facts = std::make_shared<MapFacts>();
  facts->subject = kept_->subject;
  facts->layers = to_string(kept_->layers);
  facts->columns = kept_->columns();
  facts->images = kept_->images;
  facts->method = request.method;
  facts->tsne = options.tsne;
  facts->umap = options.umap;
  facts->feature_seconds = fresh ? kept_->seconds : 0;
  facts->begin_seconds = core::seconds_since(start);
  facts->remarks = map->remarks();
  MapPicture picture;
  picture.facts = std::move(facts);
  picture.number = ++maps_;
  picture.iterations = map->iterations();
  settle(*map, std::move(picture), moved, part_of(watch, kBegunPart, 1));
}

/// Steps as long as fit between two pictures, so that each has moved and a GPU seldom waits for the host.
void FeatureMap::settle(maps::Map& map, MapPicture picture,
                        const std::function<void(const std::shared_ptr<const MapPicture>&)>& moved,
                        const Watch& watch) {
  const auto start = core::Clock::now();
  auto shown = start;
  const auto show = [&] {
    picture.iteration = map.iteration();
    picture.places = map.positions();
    picture.seconds = core::seconds_since(start);
    if (picture.done()) picture.objective = map.objective();
    moved(std::make_shared<const MapPicture>(picture));
    shown = core::Clock::now();
  };
  show();
  for (int count = 1; map.iteration() < map.iterations();) {
    const auto step = core::Clock::now();
    map.step(count, {{}, watch.stop});
    if (core::seconds_since(step) < kShortStep) count = std::min(2 * count, kMostStep);
    if (core::seconds_since(shown) < 1.0 / kPicturesASecond && map.iteration() < map.iterations()) continue;
    if (watch.progress) {
      watch.progress(static_cast<double>(map.iteration()) / map.iterations(), kMoving);
    }
    show();
  }
}

std::vector<float> first_places(const std::vector<float>& values, std::int64_t rows, int columns) {
  const std::int64_t taken = std::min(rows, kComponentRows);
  if (taken < 2) return {};
  const auto width = static_cast<std::size_t>(columns);
  std::vector<float> sample;
  for (std::int64_t i = 0; i < taken; ++i) {
    const auto* const row = values.data() + static_cast<std::size_t>(i * rows / taken) * width;
    sample.insert(sample.end(), row, row + width);
  }
  // A finite sum of finite numbers: whoever makes the map names the one that is not.
  if (!std::ranges::all_of(sample, [](float value) { return std::isfinite(value); })) return {};
  constexpr std::size_t kPlane = 2;
  constexpr double kTolerance = 1e-3;
  constexpr int kRounds = 10;
  const inspect::Components found = inspect::principal_components(
      {sample, static_cast<std::size_t>(taken), width}, {kPlane, kTolerance, kRounds});
  std::vector<float> places(kPlane * static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
    const float* const row = values.data() + i * width;
    for (std::size_t k = 0; k < std::min(kPlane, found.rank); ++k) {
      const auto component = found.component(k);
      double sum = 0;
      for (std::size_t c = 0; c < width; ++c) {
        sum += (static_cast<double>(row[c]) - static_cast<double>(found.mean[c])) *
               static_cast<double>(component[c]);
      }
      places[kPlane * i + k] = static_cast<float>(sum);
    }
  }
  return places;
}

}  // namespace warpscope::features
