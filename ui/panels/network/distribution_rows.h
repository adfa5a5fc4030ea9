#pragma once
// What the Distributions panel shows, without Dear ImGui: where values stand, heat maps and strips as pixels, ridges,
// figures over steps, and the words for all of these.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/charts/axis.h"
#include "gpu/messages/distributions.h"
#include "gpu/models/model.h"
#include "ui/images/conversion.h"

namespace warpscope::ui {

using training::DistributionMoment;
using training::Quantity;
using Moments = std::span<const std::shared_ptr<const DistributionMoment>>;

/// Where values stand on a symmetric logarithmic axis, from 0 (the most negative) to 1: an octave takes the same room
/// everywhere, and a band in the middle, or at the end where there is only one sign, stands for 0.
class ValueAxis {
 public:
  /// One bin of the axis, in ascending order of values.
  struct Band {
    statistics::Counter counter{};  ///< which bin
    double low = 0;                 ///< positions
    double high = 0;
    double octaves = 1;  ///< width; of the zeros 1, so that their density is their share
  };

  ValueAxis() = default;
  /// Covers the half octaves in which at least one of the distributions has a number.
  explicit ValueAxis(std::span<const statistics::Distribution* const> distributions);

  double position(double value) const;
  /// The value at a position; 0 within the band of zeros.
  double value(double position) const;
  const std::vector<Band>& bands() const { return bands_; }
  /// 0, and powers of ten at least `apart` positions from each other and from 0, with their signs.
  std::vector<charts::Tick> ticks(double apart) const;

 private:
  double magnitude_position(double magnitude) const;

  std::vector<Band> bands_;
  double low_ = 1, high_ = 2;  ///< magnitudes
  bool negative_ = false, positive_ = true;
  double zero_ = 0;  ///< position of the middle of the band of zeros
  double zero_half_ = 0.5;
  double octave_ = 1;  ///< positions an octave
};

/// The part of the numbers in each band over the band's octaves. All 0 where there are no numbers.
std::vector<float> densities(const statistics::Distribution& distribution, const ValueAxis& axis);

/// The colour of the band of zeros, which has a scale of its own: grey, the brighter the larger their share of the
/// numbers; transparent for none.
images::Rgba zeros_colour(double share);

/// Distributions of one layer and quantity at the moments that have it.
std::vector<const statistics::Distribution*> over_moments(Moments moments, std::size_t layer,
                                                          Quantity quantity);
/// Those of all layers at one moment.
std::vector<const statistics::Distribution*> over_layers(const DistributionMoment& moment, Quantity quantity);

/// Index of the last moment that is not after `step`; of the first if all are. `moments` is not empty.
std::size_t moment_at(Moments moments, double step);

/// Index of the moment that is nearest to `step`. `moments` is not empty.
std::size_t nearest_moment(Moments moments, std::uint64_t step);

/// Pixels, row by row from the top.
struct Pixels {
  int width = 0;
  int height = 0;
  std::vector<images::Rgba> colours;  ///< transparent where there are no numbers
  float most = 0;                     ///< the density of the brightest colour, an octave; zeros do not count
};

/// Steps to the right (`x` in pixels from 0), values upwards: a column shows the last moment that is not after its
/// step. Viridis over the square root of the density, so that thin tails are seen.
Pixels heat_map(Moments moments, std::size_t layer, Quantity quantity, const ValueAxis& axis,
                const charts::Axis& x, int width, int height);

/// A row of pixels a layer, values to the right: how a moment's numbers are spread. Layers that have none are
/// transparent. Each row has its own brightest colour.
Pixels strips(const DistributionMoment& moment, std::size_t layers, Quantity quantity, const ValueAxis& axis,
              int width);

/// Indices of at most `most` moments with this quantity: the last, and others that are evenly spread before it.
std::vector<std::size_t> ridge_moments(Moments moments, std::size_t layer, Quantity quantity, int most);

/// What is seen as a line over the steps.
enum class Figure : std::uint8_t {
  gradient_norm,
  update_ratio,
  dead_channels,
  dead_units,
  fp16_lost,
  bf16_lost
};
inline constexpr std::size_t kFigures = 6;
std::string_view name_of(Figure figure);
/// What it means, in one sentence.
std::string_view explanation_of(Figure figure);
/// Shares are from 0 to 1. The last two are of `quantity`. Nothing where there is none.
std::optional<double> figure_of(const DistributionMoment& moment, std::size_t layer, Figure figure,
                                Quantity quantity);
bool is_share(Figure figure);

/// The part of the numbers that are infinite in a format, and that it makes 0 or subnormal.
struct Losses {
  double overflows = 0;
  double zeros = 0;
  double subnormals = 0;
};
Losses fp16_losses(const statistics::Distribution& distribution);
Losses bf16_losses(const statistics::Distribution& distribution);

/// "0 %", "< 0.01 %", "0.35 %", "12.3 %"
std::string share_text(double share);
/// "conv1": of the model's layer, "image" for 0.
std::string layer_name(const models::Model& model, std::size_t layer);
/// Step, quantiles, moments, zeros and what 16 bits lose, as lines.
std::string tip_of(const DistributionMoment& moment, std::size_t layer, Quantity quantity,
                   core::Precision precision);

}  // namespace warpscope::ui
