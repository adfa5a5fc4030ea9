#include "ui/panels/curves/loss_picture.h"

#include <cmath>
#include <filesystem>
#include <vector>

#include "ui/plot/draw_curve.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

// What the legend of a file names: the present curves, then each earlier run once.
std::vector<const ShownCurve*> picture_entries(std::span<const ShownCurve> curves) {
  std::vector<const ShownCurve*> entries;
  for (const ShownCurve& curve : curves) {
    if (!curve.earlier) entries.push_back(&curve);
  }
  for (const ShownCurve& curve : curves) {
    if (curve.earlier && (entries.empty() || entries.back()->run != curve.run)) entries.push_back(&curve);
  }
  return entries;
}

}  // namespace

float draw_picture_legend(const Frame& frame, std::span<const ShownCurve> curves, const std::string& title,
                          ImVec2 min, float right) {
  const float s = frame.scale, row = std::floor(20 * s);
  auto* const list = ImGui::GetWindowDrawList();
  float x = min.x + 12 * s, baseline = min.y + 18 * s;
  x = advance_text(list, frame.fonts.strong, x, baseline, frame.palette.text, title) + 20 * s;
  for (const ShownCurve* const curve : picture_entries(curves)) {
    const std::string& name = curve->earlier ? curve->run : curve->name;
    const float width = 18 * s + text_width(frame.fonts.text, name);
    if (x + width > right - 12 * s) {
      x = min.x + 12 * s;
      baseline += row;
    }
    const float middle = std::floor(baseline - 5 * s);
    plot::draw_swatch(list, ImVec2(x, middle - s), ImVec2(x + 12 * s, middle + s),
                      frame.palette.series[curve->color], plot::dash_pattern(curve->dash, s));
    draw_text(list, frame.fonts.text, x + 18 * s, baseline, frame.palette.text, name);
    x += width + 16 * s;
  }
  return baseline + 6 * s - min.y;
}

std::string title_of(const Frame& frame, Metric metric) {
  const auto& snapshot = frame.snapshot;
  const std::string run =
      snapshot.run_dir.empty() ? "" : std::filesystem::path(snapshot.run_dir).filename().string();
  std::string title = facts_of(metric).label;
  for (const std::string& part : {snapshot.model, snapshot.data_name, run}) {
    if (!part.empty()) title += " \xC2\xB7 " + part;
  }
  return title;
}

}  // namespace warpscope::ui
