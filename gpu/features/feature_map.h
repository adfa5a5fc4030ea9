#pragma once
// Maps of features: test images as points in the plane, by t-SNE or UMAP, seen while they settle.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/features/subject.h"
#include "gpu/maps/map.h"

namespace warpscope::features {

struct MapRequest {
  Subject subject;
  std::string layers;        ///< as parse_feature_layers() takes it
  std::string method;        ///< of maps::map_table()
  maps::MapOptions options;  ///< its `initial` is not looked at: points begin at principal components
  std::int64_t images = 0;   ///< at most, the first of the test set; 0: mapped_most() of the device
};

/// Most images of a map that nobody chose a number for: fewer on a CPU, where all pairs of points take long.
std::int64_t mapped_most(core::DeviceKind kind);

/// What made a map.
struct MapFacts {
  Subject subject;          ///< what was mapped: of a run, what it holds
  std::string layers;       ///< to_string() of what was meant
  int columns = 0;          ///< numbers an image
  std::int64_t images = 0;  ///< the first of the test set
  std::string method;
  maps::TsneOptions tsne;
  maps::UmapOptions umap;
  double feature_seconds = 0;  ///< 0: the features were those of the map before
  double begin_seconds = 0;    ///< neighbours and affinities
  std::vector<std::string> remarks;
};

/// A map at one moment: complete and immutable.
struct MapPicture {
  std::shared_ptr<const MapFacts> facts;
  std::uint64_t number = 0;  ///< counts the maps of a FeatureMap
  int iteration = 0, iterations = 0;
  std::vector<float> places;        ///< (images, 2), with a mean of 0
  std::optional<double> objective;  ///< at the end, where the method knows it: the KL divergence of t-SNE
  double seconds = 0;               ///< of the iterations so far

  bool done() const { return iteration == iterations; }
};

/// Works on one device, for one thread. Between two maps it keeps the features: with the same weights, layers and
/// images another perplexity costs no features.
class FeatureMap {
 public:
  explicit FeatureMap(std::shared_ptr<core::Device> device);
  ~FeatureMap();

  /// Makes a map. `moved` gets it with its first points, at most kPicturesASecond times while they move, and at the
  /// end. Throws core::BadInput for what cannot be, core::OutOfMemory, classifiers::Cancelled.
  void make(const MapRequest& request,
            const std::function<void(const std::shared_ptr<const MapPicture>&)>& moved,
            const classifiers::Watch& watch = {});
  /// Frees what is kept.
  void forget();

  static constexpr int kPicturesASecond = 15;
  /// What Watch::progress calls the work while points move.
  static constexpr std::string_view kMoving = "iterations";

 private:
  struct Kept;
  /// True if they had to be made.
  bool prepare_rows(const MapRequest& request, const classifiers::Watch& watch);
  void settle(maps::Map& map, MapPicture picture,
              const std::function<void(const std::shared_ptr<const MapPicture>&)>& moved,
              const classifiers::Watch& watch);

  std::shared_ptr<core::Device> device_;
  std::unique_ptr<core::Stream> stream_;
  classifiers::Place place_;
  std::unique_ptr<Kept> kept_;
  std::uint64_t maps_ = 0;
};

/// Places in the plane of the first two principal components of rows, (rows, 2), from which maps begin: found from at
/// most 512 rows at equal distances. `values` is (rows, columns), on the host. Nothing if a number is not finite.
std::vector<float> first_places(const std::vector<float>& values, std::int64_t rows, int columns);

}  // namespace warpscope::features
