// Measures maps: seconds of the beginning, time of an iteration, and what becomes of the neighbours.
//
//   maps_bench [--device cuda] [--map tsne|umap] [--rows 10000] [--columns 8192] [--clusters 10] [--distance 0.2]
//              [--iterations N] [--repeat 2] [--perplexity 30] [--neighbours 15] [--features F.npy [--labels L.npy]]
//
// Without files the features are Gaussian clusters, row i in cluster i % clusters, whose centres are `distance`
// standard deviations of a row apart in each column; points begin at random. `.npy`:
// features of <f4 (rows, columns), labels of <i4. Purity is the mean part of a point's 10 nearest points that have
// its label. All repetitions must end with the same bits: exit code 1 otherwise, or if numbers are not finite.

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gpu/core/parallel.h"
#include "gpu/core/random.h"
#include "gpu/maps/map.h"
#include "tests/maps/map_data.h"
#include "tests/support/feature_rows.h"

namespace {

using namespace warpscope;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

struct Options {
  std::map<std::string, std::string> given;
  std::string text(const std::string& name, const std::string& usual) const {
    const auto found = given.find(name);
    return found == given.end() ? usual : found->second;
  }
  double number(const std::string& name, double usual) const {
    const auto found = given.find(name);
    return found == given.end() ? usual : std::atof(found->second.c_str());
  }
};

using Rows = tests::FeatureRows;
using tests::nearly_normal;

Rows make_rows(std::int64_t rows, int columns, int clusters, float distance) {
  Rows made{std::vector<float>(static_cast<std::size_t>(rows * columns)),
            maps::tests::labels_of({rows, columns, clusters}), rows, columns};
  core::parallel_for(rows, 64, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (int c = 0; c < columns; ++c) {
        const auto at = static_cast<std::uint64_t>(row * columns + c);
        made.values[at] =
            distance * nearly_normal(2, static_cast<std::uint64_t>(row % clusters * columns + c)) +
            nearly_normal(1, at);
      }
    }
  });
  return made;
}

void print_purity(const maps::Map& map, std::span<const float> positions, std::span<const int> labels) {
  if (labels.empty()) return;
  std::printf("purity      %10.4f at iteration %d\n", maps::tests::purity(positions, labels, 10),
              map.iteration());
}

/// One whole map; returns its positions.
std::vector<float> measure(const maps::Place& place, const maps::FeatureMatrix& features,
                           std::span<const int> labels, const Options& options) {
  maps::MapOptions settings;
  settings.tsne.perplexity = options.number("perplexity", settings.tsne.perplexity);
  settings.umap.n_neighbors = static_cast<int>(options.number("neighbours", settings.umap.n_neighbors));
  const int wanted = static_cast<int>(options.number("iterations", 0));
  if (wanted > 0) {
    settings.tsne.iterations = wanted;
    settings.tsne.exaggeration_iterations = std::min(settings.tsne.exaggeration_iterations, wanted / 4);
    settings.umap.epochs = wanted;
  }
  const auto begin = Clock::now();
  const auto map = maps::find_map(options.text("map", "tsne")).make(place, features, settings, {});
  std::printf("make        %10.2f ms", milliseconds_since(begin));
  for (const auto& phase : map->phases())
    std::printf("   %s %.2f ms", phase.phase.c_str(), 1e3 * phase.seconds);
  std::printf("\n");
  for (const std::string& remark : map->remarks()) std::printf("remark      %s\n", remark.c_str());
  print_purity(*map, map->positions(), labels);
  const auto steps = Clock::now();
  map->step(map->iterations());
  const double all = milliseconds_since(steps);
  std::printf("iterations  %10.2f ms   %d of %.4f ms each\n", all, map->iterations(),
              all / map->iterations());
  const auto objective = map->objective();
  if (objective) std::printf("divergence  %10.4f nats\n", *objective);
  std::vector<float> positions = map->positions();
  print_purity(*map, positions, labels);
  return positions;
}

int run(const Options& options) {
  const Rows rows = options.text("features", "").empty()
                        ? make_rows(static_cast<std::int64_t>(options.number("rows", 10000)),
                                    static_cast<int>(options.number("columns", 8192)),
                                    static_cast<int>(options.number("clusters", 10)),
                                    static_cast<float>(options.number("distance", 0.2)))
                        : tests::read_feature_rows(options.text("features", ""), options.text("labels", ""));
  const auto device = core::open_device(options.text("device", "cuda"));
  device->make_current();
  const auto stream = device->make_stream();
  const core::Buffer features(device, rows.values.size() * sizeof(float));
  stream->copy(features.data(), rows.values.data(), features.bytes());
  stream->synchronize();
  std::printf("%s, %s of %lld x %d\n", device->info().name.c_str(), options.text("map", "tsne").c_str(),
              static_cast<long long>(rows.rows), rows.columns);
  std::vector<float> first;
  for (int i = 0; i < static_cast<int>(options.number("repeat", 2)); ++i) {
    const std::vector<float> positions = measure(
        {device, stream.get()}, {features.as<float>(), rows.rows, rows.columns}, rows.labels, options);
    for (const float x : positions) {
      if (!std::isfinite(x)) throw core::Error("a position is not finite");
    }
    if (first.empty()) first = positions;
    if (std::memcmp(first.data(), positions.data(), first.size() * sizeof(float)) != 0) {
      throw core::Error("the same map has other bits the second time");
    }
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  for (int i = 1; i + 1 < count; i += 2)
    options.given[std::string(arguments[i]).substr(2)] = arguments[i + 1];
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "maps_bench: %s\n", error.what());
    return 1;
  }
}
