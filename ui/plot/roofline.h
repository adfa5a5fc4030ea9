#pragma once
// A roofline: how fast something computes over how much it computes for each byte it must move, under what
// the device can do at best. Source: S. Williams, A. Waterman, D. Patterson, "Roofline" (2009).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/plot/axis.h"

namespace warpscope::ui::plot {

/// Shapes that tell points of one colour apart.
enum class PointShape : std::uint8_t { circle, diamond, triangle, square };

/// One measured thing.
struct RooflinePoint {
  std::string label;
  std::string tip;
  double intensity = 0;  ///< FLOP/byte
  double rate = 0;       ///< FLOP/s
  ImU32 color = 0;
  PointShape shape = PointShape::circle;
};

/// A measured peak of computing.
struct Ceiling {
  std::string label;  ///< "fp16"; its rate is written after it
  double rate = 0;    ///< FLOP/s
};

/// What a roofline shows.
struct Roofline {
  std::span<const RooflinePoint> points;
  std::span<const Ceiling> ceilings;
  double bytes = 0;         ///< bytes/s of the memory; 0: no slope
  const char* unit = "";    ///< of the y axis: "TFLOP/s"
  double unit_rate = 1e12;  ///< FLOP/s in one of it
  const char* empty_text = "";
};

/// What the device allows at `intensity`: the smaller of `peak` and `intensity` times `bytes` (`peak` if that
/// is 0).
double roof(double intensity, double peak, double bytes);

/// The part of the plane that is shown, with some air around all points, the ceilings and the bends below
/// them.
struct RooflineRange {
  double low_intensity = 0.1;
  double high_intensity = 100;
  double low_rate = 1e9;
  double high_rate = 1e12;
};
RooflineRange roofline_range(const Roofline& roofline);

/// A rectangle in pixels.
struct LabelBox {
  ImVec2 min;
  ImVec2 max;

  bool empty() const { return max.x <= min.x; }
  bool meets(const LabelBox& other) const {
    return min.x < other.max.x && other.min.x < max.x && min.y < other.max.y && other.min.y < max.y;
  }
};

/// Places a label of `sizes[i]` beside each of `points`: right, left, above or below, whichever is first to
/// meet no point, no label, nothing `occupied` and no edge of `room`. What finds no place is left empty.
std::vector<LabelBox> place_labels(std::span<const ImVec2> points, std::span<const ImVec2> sizes,
                                   float radius, const LabelBox& room, std::vector<LabelBox> occupied = {});

/// Ceilings, highest first, of which each set is so close together that it shares one name above its highest.
/// `pixels` are their y, growing downwards, in the same order as `ceilings`.
std::vector<std::vector<std::size_t>> group_ceilings(std::span<const float> pixels, float reach);

/// Draws a point: for legends.
void draw_point(const Frame& frame, ImVec2 at, ImU32 color, PointShape shape, float radius);

/// Draws it as an item of `size` pixels, traced as `name`. The point under the pointer shows its tip.
void draw(const Frame& frame, const char* name, ImVec2 size, const Roofline& roofline);

}  // namespace warpscope::ui::plot
