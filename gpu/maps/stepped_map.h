#pragma once
// What all maps share: counting iterations, looking at who watches, bringing positions to the host, where points begin.

#include <functional>

#include "gpu/maps/map.h"

namespace warpscope::maps {

/// A map whose iterations are enqueued one by one.
class SteppedMap : public Map {
 public:
  SteppedMap(const Place& place, std::int64_t rows, int iterations);
  std::int64_t rows() const override { return rows_; }
  int iterations() const override { return iterations_; }
  int iteration() const override { return done_; }
  int step(int count, const Watch& watch) override;
  std::vector<float> positions() override;
  std::optional<double> objective() override { return std::nullopt; }
  const std::vector<classifiers::PhaseTime>& phases() const override { return phases_; }
  const std::vector<std::string>& remarks() const override { return remarks_; }

 protected:
  /// Enqueues iteration `index`, counted from 0.
  virtual void enqueue(int index) = 0;
  /// (rows, 2) in device memory.
  virtual const float* current() const = 0;

  /// Runs a part of make() and keeps its seconds.
  void phase(std::string name, const std::function<void()>& body);
  void remark(std::string sentence) { remarks_.push_back(std::move(sentence)); }
  const Place& place() const { return place_; }
  core::Buffer room(std::size_t bytes) const { return {place_.device, bytes}; }
  /// A copy in device memory. Waits.
  template <class T>
  core::Buffer uploaded(const std::vector<T>& values) const {
    return core::upload(place_.device, *place_.stream, values);
  }

 private:
  Place place_;
  std::int64_t rows_;
  int iterations_;
  int done_ = 0;
  std::vector<classifiers::PhaseTime> phases_;
  std::vector<std::string> remarks_;
};

/// Throws BadInput unless there are at least three rows, few enough to count in 32 bits, and only finite numbers.
void check_features(const Place& place, const FeatureMatrix& features);

/// options.initial, less its mean; empty if there is none or if it has no width in its first column, so that the caller
/// draws numbers. Throws BadInput if it has another size or holds a number that is not finite.
std::vector<double> given_positions(const MapOptions& options, std::int64_t rows);

/// The n-th number of the seed's stream with a mean of 0 and a deviation of 1. Source: G. Box, M. Muller, "A note on
/// the generation of random normal deviates" (1958).
double random_normal(std::uint64_t seed, std::uint64_t n);

/// Rows of the table. objective() of t-SNE is the KL divergence, in nats, without exaggeration; UMAP never computes its
/// cross-entropy.
std::unique_ptr<Map> make_tsne(const Place& place, const FeatureMatrix& features, const MapOptions& options,
                               const Watch& watch);
std::unique_ptr<Map> make_umap(const Place& place, const FeatureMatrix& features, const MapOptions& options,
                               const Watch& watch);

}  // namespace warpscope::maps
