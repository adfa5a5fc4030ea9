#include "gpu/export/svg_plot.h"

#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/export/plot_layout.h"
#include "gpu/runs/text.h"

namespace warpscope::runs {
namespace {

std::string dash_attribute(int index) {
  const auto dashes = dashes_of(index);
  return dashes.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", fmt::join(dashes, " "));
}

void draw_axes(const Plot& plot, const PlotLayout& layout, std::string& svg) {
  auto out = std::back_inserter(svg);
  for (const charts::Tick& tick : layout.y_ticks) {
    const float y = layout.y.to_pixel(tick.value);
    fmt::format_to(out,
                   "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
                   "<text class=\"tick\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                   kPlotLeft, kPlotRight, y, y, kPlotLeft - 8, y + 4, xml_text(tick.label));
  }
  for (const charts::Tick& tick : layout.x_ticks) {
    const float x = layout.x.to_pixel(tick.value);
    fmt::format_to(out,
                   "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>"
                   "<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                   x, x, layout.top, kPlotBottom, x, kPlotBottom + 18, xml_text(tick.label));
  }
  fmt::format_to(out, "<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"{4}\"/>\n", kPlotLeft, layout.top,
                 kPlotBottom, kPlotRight, hex(kAxisInk));
  fmt::format_to(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                 (kPlotLeft + kPlotRight) / 2, kPageHeight - 14, xml_text(plot.x_label));
  fmt::format_to(out, "<text transform=\"translate(20 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                 (layout.top + kPlotBottom) / 2, xml_text(plot.y_label));
}

void draw_curve(const PlotCurve& curve, const PlotLayout& layout, std::string& svg) {
  const Curve points = placed_points(curve, layout);
  if (points.x.empty()) return;
  auto out = std::back_inserter(svg);
  fmt::format_to(out, "<path class=\"curve\" stroke=\"{}\"{} d=\"", hex(color_of(curve.color)),
                 dash_attribute(curve.dash));
  for (std::size_t i = 0; i < points.x.size(); ++i)
    fmt::format_to(out, "{}{:.2f} {:.2f}", i == 0 ? "M" : "L", points.x[i], points.y[i]);
  // A path of one point would draw nothing: round line ends make a dot of it.
  svg += points.x.size() == 1 ? "h0\"/>\n" : "\"/>\n";
}

void draw_marks(const PlotLayout& layout, std::string& svg) {
  for (const PlacedMark& mark : layout.marks) {
    fmt::format_to(
        std::back_inserter(svg),
        "<line class=\"mark\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"{3}\"><title>{4}"
        "</title></line>\n",
        mark.x, layout.top, kPlotBottom, hex(color_of(mark.color)), xml_text(mark.text));
  }
}

/// Over the curves.
void draw_mark_texts(const PlotLayout& layout, std::string& svg) {
  for (const PlacedMark& mark : layout.marks) {
    if (mark.shown.empty()) continue;
    fmt::format_to(std::back_inserter(svg),
                   "<text class=\"small\" transform=\"translate({:.1f} {}) rotate(-90)\" "
                   "text-anchor=\"end\">{}</text>\n",
                   mark.text_x, mark.text_top, xml_text(mark.shown));
  }
}

void draw_legend(const Plot& plot, const PlotLayout& layout, std::string& svg) {
  for (std::size_t i = 0; i < plot.curves.size(); ++i) {
    const PlotCurve& curve = plot.curves[i];
    const LegendEntry& at = layout.legend[i];
    fmt::format_to(std::back_inserter(svg),
                   "<line class=\"key\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\" stroke=\"{}\"{}/>"
                   "<text x=\"{:.1f}\" y=\"{}\">{}</text>\n",
                   at.x, at.x + kKeyLength, at.y, at.y, hex(color_of(curve.color)),
                   dash_attribute(curve.dash), at.x + kKeyRoom, at.y + 4, xml_text(curve.name));
  }
}

}  // namespace

std::string svg_of(const Plot& plot) {
  const PlotLayout layout = layout_of(plot);
  std::string svg = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 "
      "{0} {1}\" "
      "font-family=\"Inter, 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif\" "
      "font-size=\"{2}\" "
      "fill=\"{6}\">\n"
      "<title>{3}</title>\n"
      "<style>.grid{{stroke:{7}}}.tick{{font-size:12px;fill:{8}}}.small{{font-size:{4}px;fill:{8}}}"
      ".curve{{fill:none;stroke-width:{9};stroke-linejoin:round;stroke-linecap:round}}"
      ".key{{stroke-width:{10}}}.mark{{stroke-opacity:{11}}}</style>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n"
      "<text x=\"{5}\" y=\"{12}\" font-size=\"16\" font-weight=\"600\">{3}</text>\n",
      kPageWidth, kPageHeight, kFontSize, xml_text(plot.title), kSmallSize, kPlotLeft, hex(kInk),
      hex(kGridInk), hex(kFaintInk), kCurveThickness, kKeyThickness, kMarkOpacity, kTitleBaseline);
  draw_axes(plot, layout, svg);
  draw_marks(layout, svg);
  for (const PlotCurve& curve : plot.curves) draw_curve(curve, layout, svg);
  draw_mark_texts(layout, svg);
  draw_legend(plot, layout, svg);
  return svg + "</svg>\n";
}

}  // namespace warpscope::runs
