#pragma once
// The Distributions panel: a row a layer with how its weights, activations, gradients and updates are spread, and one
// of them large, over the steps.

#include <array>
#include <memory>
#include <string>

#include "gpu/models/model.h"
#include "ui/frame/frame.h"
#include "ui/interop/texture.h"
#include "ui/panels/network/distribution_plot.h"
#include "ui/panels/network/distribution_rows.h"

namespace warpscope::ui {

class DistributionsPanel {
 public:
  explicit DistributionsPanel(models::Model model) : model_(std::move(model)) {}

  /// Another network is trained from now on.
  void follow(const models::Model& model);
  /// Title row and body of the tab.
  void draw(const Frame& frame);
  /// Frees the textures; called before the context goes.
  void shutdown();

 private:
  /// Where the columns of the table stand, in pixels from its left edge.
  struct Columns {
    float name = 0;
    float strip = 0;       ///< width of one
    float row = 0;         ///< height of a row
    float pitch = 0;       ///< from strip to strip
    bool figures = false;  ///< columns of numbers follow
    float figure = 0;      ///< width of one
  };
  /// One column of strips.
  struct Strips {
    std::shared_ptr<const DistributionMoment> moment;
    int width = 0;
    std::unique_ptr<interop::Texture> texture;
  };

  void draw_controls(const Frame& frame);
  void draw_figure_choice(const Frame& frame);
  void draw_body(const Frame& frame);
  void draw_table(const Frame& frame, ImVec2 size);
  float names_width(const Frame& frame) const;  ///< of the column of layers
  float named_width(const Frame& frame) const;  ///< of a table whose strips are as wide as their names
  Columns columns_of(const Frame& frame, float width) const;
  void draw_head(const Frame& frame, const Columns& columns) const;
  void draw_row(const Frame& frame, const Columns& columns, std::size_t layer);
  void choose(const Frame& frame, std::size_t layer);
  void draw_strip(const Frame& frame, std::size_t layer, Quantity quantity, ImVec2 min, ImVec2 max) const;
  void draw_numbers(const Frame& frame, const Columns& columns, std::size_t layer, ImVec2 min,
                    float baseline) const;
  void make_strips(const Frame& frame, int width);
  void draw_detail(const Frame& frame, ImVec2 size);
  void draw_colour_bar(const Frame& frame) const;
  void draw_zeros(const Frame& frame) const;
  void trace(const Frame& frame);

  models::Model model_;
  std::shared_ptr<const training::Distributions> seen_;
  std::shared_ptr<const DistributionMoment> moment_;  ///< that the table shows
  DistributionLook look_;
  DistributionPlot plot_;
  std::array<Strips, training::kQuantities> strips_;
  std::string traced_;
};

}  // namespace warpscope::ui
