#pragma once
// The large part of the Distributions panel: how the numbers of one layer are spread, over the steps.

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/models/model.h"
#include "ui/frame/frame.h"
#include "ui/interop/texture.h"
#include "ui/panels/network/distribution_rows.h"

namespace warpscope::ui {

/// How a plot shows a layer.
enum class DistributionView : std::uint8_t { heat_map, ridges, figures };

/// What a plot shows.
struct DistributionLook {
  DistributionView view = DistributionView::heat_map;
  Quantity quantity = Quantity::weights;
  Figure figure = Figure::gradient_norm;
  bool logarithmic_steps = false;
  std::size_t layer = 1;

  bool operator==(const DistributionLook&) const = default;
};

/// Behind the colours of densities, where there are no numbers: in every theme darker than the fewest.
inline constexpr ImU32 kNoNumbers = IM_COL32(20, 22, 28, 255);

class DistributionPlot {
 public:
  /// An item of `size` pixels. Where the pointer is, the moment tells its figures; a click sets Cursor::step.
  void draw(const Frame& frame, ImVec2 size, const models::Model& model,
            const std::shared_ptr<const training::Distributions>& seen, const DistributionLook& look);
  /// The density of the heat map's brightest colour, an octave; 0 before there is one.
  float most_density() const { return most_; }
  /// Frees the texture; called before the context goes.
  void shutdown() { texture_.reset(); }

 private:
  /// Where things stand, in pixels of the window.
  struct Room {
    float left = 0, right = 0, top = 0, bottom = 0;
    charts::Axis steps;  ///< of heat map and figures

    bool holds(ImVec2 point) const {
      return point.x >= left && point.x < right && point.y >= top && point.y < bottom;
    }
  };
  /// What the texture was made from.
  struct Made {
    std::shared_ptr<const training::Distributions> seen;
    DistributionLook look;
    int width = 0, height = 0;
    bool operator==(const Made&) const = default;
  };

  Room arrange(const Frame& frame, ImVec2 min, ImVec2 max, Moments moments,
               const DistributionLook& look) const;
  void make_heat_map(const Frame& frame, const Room& room,
                     const std::shared_ptr<const training::Distributions>& seen,
                     const DistributionLook& look);
  void draw_heat_map(const Frame& frame, const Room& room) const;
  void draw_fp16_limits(const Frame& frame, const Room& room) const;
  void draw_quantiles(const Frame& frame, const Room& room) const;
  void draw_ridges(const Frame& frame, const Room& room, Moments moments, const DistributionLook& look);
  void draw_ridge(const Frame& frame, const Room& room, const std::vector<float>& density, float baseline,
                  float height, ImU32 color) const;
  void draw_figures(const Frame& frame, const Room& room, Moments moments, const DistributionLook& look);
  void draw_step_axis(const Frame& frame, const Room& room) const;
  void draw_cursor(const Frame& frame, const Room& room) const;
  std::size_t pointed_moment(const Room& room, Moments moments, const DistributionLook& look) const;
  void point(const Frame& frame, const Room& room, const models::Model& model, Moments moments,
             const DistributionLook& look) const;

  Made made_;
  ValueAxis axis_;
  float most_ = 0;
  std::vector<std::vector<float>> quantiles_;  ///< positions, one list a moment; empty where there are none
  std::unique_ptr<interop::Texture> texture_;
  std::vector<std::size_t> ridges_;  ///< the moments that ridges show, from the top
};

}  // namespace warpscope::ui
