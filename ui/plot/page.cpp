#include "ui/plot/page.h"

#include <cmath>
#include <string>

#include "gpu/export/plot_layout.h"
#include "gpu/files/utf8.h"
#include "ui/widgets/theme.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui::plot {
namespace {

constexpr float kFactor = 2;  // pixels for each unit of the page
constexpr float kEverywhere = 1e6f;

ImU32 color(std::uint32_t rgb, double opacity = 1) {
  return IM_COL32((rgb >> 16) & 255, (rgb >> 8) & 255, rgb & 255, static_cast<int>(255 * opacity));
}

ImVec2 pixel(double x, double y) {
  return {static_cast<float>(x) * kFactor, static_cast<float>(y) * kFactor};
}

float pixels(double length) {
  return static_cast<float>(length) * kFactor;
}

enum class Anchor { start, middle, end };

float start_of(Anchor anchor, float at, float width) {
  return anchor == Anchor::start ? at : anchor == Anchor::middle ? at - width / 2 : at - width;
}

void text(const ImFont* font, double x, double baseline, Anchor anchor, std::uint32_t rgb,
          const std::string& raw) {
  const std::string shown = files::escaped(raw);
  const ImVec2 at = pixel(x, baseline);
  draw_text(ImGui::GetWindowDrawList(), font, start_of(anchor, at.x, text_width(font, shown)), at.y,
            color(rgb), shown);
}

// Text that runs upwards: drawn from left to right and turned about its start.
void upright_text(const ImFont* font, double x, double y, Anchor anchor, std::uint32_t rgb,
                  const std::string& raw) {
  const std::string shown = files::escaped(raw);
  const ImVec2 at(std::floor(pixels(x)), std::floor(pixels(y)));
  auto* const list = ImGui::GetWindowDrawList();
  const int first = list->VtxBuffer.Size;
  // Letters that lie outside of the picture before they are turned are not to be left out.
  list->PushClipRect(ImVec2(-kEverywhere, -kEverywhere), ImVec2(kEverywhere, kEverywhere));
  draw_text(list, font, start_of(anchor, at.x, text_width(font, shown)), at.y, color(rgb), shown);
  list->PopClipRect();
  for (int i = first; i < list->VtxBuffer.Size; ++i) {
    ImVec2& corner = list->VtxBuffer[i].pos;
    corner = ImVec2(at.x + corner.y - at.y, at.y - (corner.x - at.x));
  }
}

void line(ImVec2 from, ImVec2 to, ImU32 ink, double thickness) {
  const ImVec2 ends[] = {from, to};
  ImGui::GetWindowDrawList()->AddPolyline(ends, 2, ink, 0, pixels(thickness));
}

// Segments with round ends, so that they join however sharply a curve turns.
void round_line(ImVec2 from, ImVec2 to, ImU32 ink, double thickness) {
  auto* const list = ImGui::GetWindowDrawList();
  line(from, to, ink, thickness);
  list->AddCircleFilled(from, pixels(thickness) / 2, ink, 8);
  list->AddCircleFilled(to, pixels(thickness) / 2, ink, 8);
}

// Draws what of a curve falls on the dashes of its pattern.
class DashedPen {
 public:
  DashedPen(std::span<const float> pattern, ImU32 ink, double thickness)
      : pattern_(pattern),
        ink_(ink),
        thickness_(thickness),
        left_(pattern.empty() ? 0 : pixels(pattern[0])) {}

  void draw(ImVec2 from, ImVec2 to) {
    if (pattern_.empty()) return round_line(from, to, ink_, thickness_);
    const float length = std::hypot(to.x - from.x, to.y - from.y);
    const auto at = [&](float part) {
      return ImVec2(from.x + (to.x - from.x) * part / length, from.y + (to.y - from.y) * part / length);
    };
    for (float done = 0; done < length;) {
      const float piece = std::min(left_, length - done);
      if (part_ % 2 == 0) round_line(at(done), at(done + piece), ink_, thickness_);
      done += piece;
      left_ -= piece;
      if (left_ > 0) continue;
      part_ = (part_ + 1) % pattern_.size();
      left_ = pixels(pattern_[part_]);
    }
  }

 private:
  std::span<const float> pattern_;
  ImU32 ink_;
  double thickness_;
  std::size_t part_ = 0;
  float left_;  // of this dash or gap
};

void draw_axes(const Fonts& fonts, const runs::Plot& plot, const runs::PlotLayout& layout) {
  using namespace runs;
  for (const charts::Tick& tick : layout.y_ticks) {
    const double y = layout.y.to_pixel(tick.value);
    line(pixel(kPlotLeft, y), pixel(kPlotRight, y), color(kGridInk), 1);
    text(fonts.small, kPlotLeft - 8, y + 4, Anchor::end, kFaintInk, tick.label);
  }
  for (const charts::Tick& tick : layout.x_ticks) {
    const double x = layout.x.to_pixel(tick.value);
    line(pixel(x, layout.top), pixel(x, kPlotBottom), color(kGridInk), 1);
    text(fonts.small, x, kPlotBottom + 18, Anchor::middle, kFaintInk, tick.label);
  }
  line(pixel(kPlotLeft, layout.top), pixel(kPlotLeft, kPlotBottom), color(kAxisInk), 1);
  line(pixel(kPlotLeft, kPlotBottom), pixel(kPlotRight, kPlotBottom), color(kAxisInk), 1);
  text(fonts.text, (kPlotLeft + kPlotRight) / 2.0, kPageHeight - 14, Anchor::middle, kInk, plot.x_label);
  upright_text(fonts.text, 20, (layout.top + kPlotBottom) / 2.0, Anchor::middle, kInk, plot.y_label);
}

void draw_curve(const runs::PlotCurve& curve, const runs::PlotLayout& layout) {
  const runs::Curve points = runs::placed_points(curve, layout);
  DashedPen pen(runs::dashes_of(curve.dash), color(runs::color_of(curve.color)), runs::kCurveThickness);
  for (std::size_t i = 0; i < points.x.size(); ++i) {
    // A curve of one point is a dot.
    const std::size_t before = i == 0 ? 0 : i - 1;
    if (i == 0 && points.x.size() > 1) continue;
    const ImVec2 from = pixel(points.x[before], points.y[before]), to = pixel(points.x[i], points.y[i]);
    if (i == 0) {
      ImGui::GetWindowDrawList()->AddCircleFilled(to, pixels(runs::kCurveThickness),
                                                  color(runs::color_of(curve.color)), 16);
    } else {
      pen.draw(from, to);
    }
  }
}

void draw_legend(const Fonts& fonts, const runs::Plot& plot, const runs::PlotLayout& layout) {
  for (std::size_t i = 0; i < plot.curves.size(); ++i) {
    const runs::PlotCurve& curve = plot.curves[i];
    const auto [x, y] = layout.legend[i];
    DashedPen(runs::dashes_of(curve.dash), color(runs::color_of(curve.color)), runs::kKeyThickness)
        .draw(pixel(x, y), pixel(x + runs::kKeyLength, y));
    text(fonts.text, x + runs::kKeyRoom, y + 4, Anchor::start, runs::kInk, curve.name);
  }
}

}  // namespace

Picture draw_page(const runs::Plot& plot) {
  const runs::PlotLayout layout = runs::layout_of(plot);
  const ImVec2 size = pixel(runs::kPageWidth, runs::kPageHeight);
  return draw_alone(size, kFactor, 1, facts_of(Theme::light).palette, [&](const Fonts& fonts) {
    const std::string title =
        ellipsize(fonts.strong, files::escaped(plot.title), pixels(runs::kPlotRight - runs::kPlotLeft));
    text(fonts.strong, runs::kPlotLeft, runs::kTitleBaseline, Anchor::start, runs::kInk, title);
    draw_axes(fonts, plot, layout);
    for (const runs::PlacedMark& mark : layout.marks) {
      line(pixel(mark.x, layout.top), pixel(mark.x, runs::kPlotBottom),
           color(runs::color_of(mark.color), runs::kMarkOpacity), 1);
    }
    for (const runs::PlotCurve& curve : plot.curves) draw_curve(curve, layout);
    for (const runs::PlacedMark& mark : layout.marks)
      upright_text(fonts.small, mark.text_x, mark.text_top, Anchor::end, runs::kFaintInk, mark.shown);
    draw_legend(fonts, plot, layout);
  });
}

}  // namespace warpscope::ui::plot
