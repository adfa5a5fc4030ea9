#include "gpu/export/svg_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "gpu/runs/text.h"

namespace warpscope::runs {
namespace {

using charts::Axis;
using charts::Tick;

constexpr int kWidth = 960;
constexpr int kHeight = 540;
constexpr int kLeft = 80;
constexpr int kRight = 24;
constexpr int kBottom = 56;
constexpr int kTitleHeight = 44;
constexpr int kLegendRow = 20;
constexpr int kFontSize = 13;
constexpr int kSmallSize = 11;
constexpr int kColumns = 2 * (kWidth - kLeft - kRight);
constexpr std::size_t kMostMarkText = 48;

constexpr std::array<std::string_view, 8> kColors{"#0072B2", "#D55E00", "#009E73", "#E69F00",
                                                  "#56B4E9", "#CC79A7", "#000000", "#F0E442"};
constexpr std::array<std::string_view, 4> kDashes{"", "7 4", "2 3", "9 3 2 3"};
constexpr std::string_view kGrey = "#808080";

std::string_view color_of(int index) {
  return index < 0 ? kGrey : kColors[static_cast<std::size_t>(index) % kColors.size()];
}

std::string dash_attribute(int index) {
  const std::string_view dash = kDashes[static_cast<std::size_t>(index) % kDashes.size()];
  return dash.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dash);
}

/// Pixels that text takes, roughly: fonts differ, and nothing depends on it but what has room beside what.
double text_width(const std::string& text, int size) {
  const auto characters = std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; });
  return 0.58 * size * static_cast<double>(characters);
}

/// At most `most` characters, with an ellipsis where some are missing.
std::string shortened(const std::string& text, std::size_t most) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0u) == 0x80u) continue;
    if (characters++ == most) return text.substr(0, i) + "\xE2\x80\xA6";
  }
  return text;
}

struct LegendEntry {
  double x = 0;
  int row = 0;
};

/// Places the names side by side, in as many rows as that takes.
std::vector<LegendEntry> place_legend(const std::vector<PlotCurve>& curves) {
  std::vector<LegendEntry> entries;
  double x = kLeft;
  int row = 0;
  for (const PlotCurve& curve : curves) {
    const double width = 36 + text_width(printable(curve.name), kFontSize) + 20;
    if (x > kLeft && x + width > kWidth - kRight) {
      x = kLeft;
      ++row;
    }
    entries.push_back({x, row});
    x += width;
  }
  return entries;
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

/// A range with some room around it; [0, 1] or [1, 10] for none.
Range padded(Range range, bool logarithmic, double share) {
  if (range.empty()) return logarithmic ? Range{1, 10} : Range{0, 1};
  if (range.low == range.high) {
    if (logarithmic) return {range.low / 2, range.high * 2};
    const double room = range.low == 0 ? 1 : std::abs(range.low) / 2;
    return {range.low - room, range.high + room};
  }
  if (logarithmic) {
    const double factor = std::pow(range.high / range.low, share);
    return {range.low / factor, range.high * factor};
  }
  const double room = (range.high - range.low) * share;
  return {range.low - room, range.high + room};
}

/// The drawing area and its axes.
struct Frame {
  int top = 0;
  Axis x;
  Axis y;
};

Frame frame_of(const Plot& plot, int legend_rows) {
  Range x;
  Range y;
  for (const PlotCurve& curve : plot.curves) {
    for (std::size_t i = 0; i < curve.points.x.size(); ++i) {
      if (plot.logarithmic && curve.points.y[i] <= 0) continue;
      x.add(curve.points.x[i]);
      y.add(curve.points.y[i]);
    }
  }
  // Steps begin at 1 and epochs near 0: the axis may as well begin at 0.
  if (x.low > 0 && x.low < 0.05 * x.high) x.low = 0;
  x = padded(x, false, 0);
  y = padded(y, plot.logarithmic, 0.04);
  const int top = kTitleHeight + legend_rows * kLegendRow + 8;
  return {top,
          {x.low, x.high, static_cast<float>(kLeft), static_cast<float>(kWidth - kRight), false},
          {y.low, y.high, static_cast<float>(kHeight - kBottom), static_cast<float>(top), plot.logarithmic}};
}

void draw_axes(const Plot& plot, const Frame& frame, std::string& svg) {
  auto out = std::back_inserter(svg);
  const int bottom = kHeight - kBottom;
  for (const Tick& tick : charts::ticks(frame.y, 7, charts::Unit::value)) {
    const float y = frame.y.to_pixel(tick.value);
    fmt::format_to(out,
                   "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
                   "<text class=\"tick\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                   kLeft, kWidth - kRight, y, y, kLeft - 8, y + 4, xml_text(tick.label));
  }
  for (const Tick& tick : charts::ticks(frame.x, 8, plot.x_unit)) {
    const float x = frame.x.to_pixel(tick.value);
    fmt::format_to(out,
                   "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>"
                   "<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                   x, x, frame.top, bottom, x, bottom + 18, xml_text(tick.label));
  }
  fmt::format_to(out, "<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"#333333\"/>\n", kLeft, frame.top,
                 bottom, kWidth - kRight);
  fmt::format_to(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                 (kLeft + kWidth - kRight) / 2, kHeight - 14, xml_text(plot.x_label));
  fmt::format_to(out, "<text transform=\"translate(20 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                 (frame.top + bottom) / 2, xml_text(plot.y_label));
}

void draw_curve(const PlotCurve& curve, const Frame& frame, std::string& svg) {
  Curve shown;
  for (std::size_t i = 0; i < curve.points.x.size(); ++i) {
    if (!frame.y.shows(curve.points.y[i])) continue;
    shown.x.push_back(curve.points.x[i]);
    shown.y.push_back(curve.points.y[i]);
  }
  if (shown.x.empty()) return;
  shown = thinned(shown, kColumns);
  auto out = std::back_inserter(svg);
  fmt::format_to(out, "<path class=\"curve\" stroke=\"{}\"{} d=\"", color_of(curve.color),
                 dash_attribute(curve.dash));
  for (std::size_t i = 0; i < shown.x.size(); ++i) {
    fmt::format_to(out, "{}{:.2f} {:.2f}", i == 0 ? "M" : "L", frame.x.to_pixel(shown.x[i]),
                   frame.y.to_pixel(shown.y[i]));
  }
  // A path of one point would draw nothing: round line ends make a dot of it.
  svg += shown.x.size() == 1 ? "h0\"/>\n" : "\"/>\n";
}

/// The lines of all marks. Returns the texts, which are drawn later, over the curves: of those marks that are far enough
/// right of the one before.
std::string draw_marks(const Plot& plot, const Frame& frame, std::string& svg) {
  std::vector<PlotMark> marks = plot.marks;
  std::stable_sort(marks.begin(), marks.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
  std::string texts;
  float free_from = 0;
  for (const PlotMark& mark : marks) {
    const float x = frame.x.to_pixel(mark.x);
    if (x < frame.x.pixel_low || x > frame.x.pixel_high) continue;
    fmt::format_to(
        std::back_inserter(svg),
        "<line class=\"mark\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\" stroke=\"{}\"><title>{}"
        "</title></line>\n",
        x, x, frame.top, kHeight - kBottom, color_of(mark.color), xml_text(mark.text));
    const bool at_right_end = x + kSmallSize + 4 > frame.x.pixel_high;
    const float line = at_right_end ? x - 4 : x + kSmallSize;
    if (line - kSmallSize < free_from) continue;
    fmt::format_to(std::back_inserter(texts),
                   "<text class=\"small\" transform=\"translate({:.1f} {}) rotate(-90)\" "
                   "text-anchor=\"end\">{}</text>\n",
                   line, frame.top + 6, xml_text(shortened(printable(mark.text), kMostMarkText)));
    free_from = line + 4;
  }
  return texts;
}

void draw_legend(const Plot& plot, const std::vector<LegendEntry>& entries, std::string& svg) {
  for (std::size_t i = 0; i < plot.curves.size(); ++i) {
    const PlotCurve& curve = plot.curves[i];
    const int y = kTitleHeight + entries[i].row * kLegendRow + 4;
    fmt::format_to(std::back_inserter(svg),
                   "<line class=\"key\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\" stroke=\"{}\"{}/>"
                   "<text x=\"{:.1f}\" y=\"{}\">{}</text>\n",
                   entries[i].x, entries[i].x + 28, y, y, color_of(curve.color), dash_attribute(curve.dash),
                   entries[i].x + 36, y + 4, xml_text(curve.name));
  }
}

}  // namespace

std::string svg_of(const Plot& plot) {
  const std::vector<LegendEntry> legend = place_legend(plot.curves);
  const Frame frame = frame_of(plot, legend.empty() ? 0 : legend.back().row + 1);
  std::string svg = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 "
      "{0} {1}\" "
      "font-family=\"Inter, 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif\" "
      "font-size=\"{2}\" "
      "fill=\"#222222\">\n"
      "<title>{3}</title>\n"
      "<style>.grid{{stroke:#e4e4e4}}.tick{{font-size:12px;fill:#555555}}.small{{font-size:{4}px;fill:#"
      "555555}}"
      ".curve{{fill:none;stroke-width:1.5;stroke-linejoin:round;stroke-linecap:round}}"
      ".key{{stroke-width:2}}.mark{{stroke-opacity:0.7}}</style>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n"
      "<text x=\"{5}\" y=\"26\" font-size=\"16\" font-weight=\"600\">{3}</text>\n",
      kWidth, kHeight, kFontSize, xml_text(plot.title), kSmallSize, kLeft);
  draw_axes(plot, frame, svg);
  const std::string mark_texts = draw_marks(plot, frame, svg);
  for (const PlotCurve& curve : plot.curves) draw_curve(curve, frame, svg);
  svg += mark_texts;
  draw_legend(plot, legend, svg);
  return svg + "</svg>\n";
}

}  // namespace warpscope::runs
