#include "gpu/export/svg_bars.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "gpu/charts/axis.h"
#include "gpu/export/plot_layout.h"
#include "gpu/files/utf8.h"
#include "gpu/runs/text.h"

namespace warpscope::runs {
namespace {

constexpr int kNames = 330;                 // the bars begin here
constexpr int kBarsEnd = kPageWidth - 170;  // texts behind the bars have the rest
constexpr int kTop = 84;
constexpr int kRow = 20;
constexpr int kBarHeight = 12;
constexpr int kGroupTitle = 26;
constexpr int kBelow = 48;  // the axis
constexpr std::size_t kMostName = 46;
constexpr float kLetterWidth = 6.6f;  // of text of 12 px, on average
constexpr float kLabelGap = 8;        // between two labels of the axis

int height_of(const BarChart& chart) {
  int height = kTop + kBelow;
  for (const BarGroup& group : chart.groups) {
    height += (group.title.empty() ? 0 : kGroupTitle) + kRow * static_cast<int>(group.bars.size());
  }
  return height;
}

/// From 0, or on a logarithmic axis from the power of ten below the least value, to what holds the largest.
charts::Axis axis_of(const BarChart& chart) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const BarGroup& group : chart.groups) {
    for (const ChartBar& bar : group.bars) {
      for (const double value : {bar.value, bar.mark, bar.high}) {
        most = std::max(most, value);
        if (value > 0) least = std::min(least, value);
      }
    }
  }
  if (most <= 0) least = most = 1;
  const double low = chart.logarithmic ? std::pow(10, std::floor(std::log10(least) - 0.01)) : 0;
  return {low, most, static_cast<float>(kNames), static_cast<float>(kBarsEnd), chart.logarithmic};
}

void draw_axis(const BarChart& chart, const charts::Axis& axis, int bottom, std::string& svg) {
  auto out = std::back_inserter(svg);
  const std::vector<charts::Tick> ticks = charts::ticks(axis, 6, charts::Unit::value);
  std::vector<float> widths;
  for (const charts::Tick& tick : ticks) {
    widths.push_back(kLetterWidth * static_cast<float>(tick.label.size()));
  }
  const std::vector<bool> written = charts::labels_that_fit(axis, ticks, widths, kLabelGap);
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const float x = axis.to_pixel(ticks[i].value);
    fmt::format_to(out, "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>\n", x,
                   kTop, bottom);
    if (!written[i]) continue;
    fmt::format_to(out, "<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x,
                   bottom + 16, xml_text(ticks[i].label));
  }
  fmt::format_to(out, "<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                 (kNames + kBarsEnd) / 2, bottom + 36, xml_text(chart.label));
}

void draw_bar(const ChartBar& bar, const charts::Axis& axis, int top, std::string& svg) {
  auto out = std::back_inserter(svg);
  const int middle = top + kRow / 2;
  fmt::format_to(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kNames - 8, middle + 4,
                 xml_text(shortened(files::escaped(bar.name), kMostName)));
  if (!axis.shows(bar.value) || bar.value <= 0) return;
  const float end = axis.to_pixel(bar.value);
  const int bar_top = middle - kBarHeight / 2;
  fmt::format_to(out, "<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/>",
                 kNames, bar_top, std::max(end - static_cast<float>(kNames), 1.0f), kBarHeight,
                 hex(color_of(bar.color)));
  float text = end;
  if (bar.high > bar.low && axis.shows(bar.low)) {
    text = std::max(text, axis.to_pixel(bar.high));
    fmt::format_to(out, "<line class=\"spread\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2}\" y2=\"{2}\"/>",
                   axis.to_pixel(bar.low), axis.to_pixel(bar.high), middle);
  }
  if (bar.mark > 0 && axis.shows(bar.mark)) {
    text = std::max(text, axis.to_pixel(bar.mark));
    fmt::format_to(out, "<line class=\"mark\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>",
                   axis.to_pixel(bar.mark), bar_top - 3, bar_top + kBarHeight + 3);
  }
  fmt::format_to(out, "<text class=\"tick\" x=\"{:.1f}\" y=\"{}\">{}</text>\n", text + 6, middle + 4,
                 xml_text(files::escaped(bar.text)));
}

void draw_keys(const BarChart& chart, std::string& svg) {
  auto out = std::back_inserter(svg);
  double x = kNames;
  for (const BarKey& key : chart.keys) {
    fmt::format_to(out,
                   "<rect x=\"{:.0f}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/>"
                   "<text class=\"tick\" x=\"{:.0f}\" y=\"{}\">{}</text>\n",
                   x, kTop - 28, hex(color_of(key.color)), x + 18, kTop - 18, xml_text(key.name));
    x += 18 + static_cast<double>(kLetterWidth) * static_cast<double>(key.name.size()) + 18;
  }
  if (chart.mark.empty()) return;
  fmt::format_to(out,
                 "<line class=\"mark\" x1=\"{0:.0f}\" x2=\"{0:.0f}\" y1=\"{1}\" y2=\"{2}\"/>"
                 "<text class=\"tick\" x=\"{3:.0f}\" y=\"{4}\">{5}</text>\n",
                 x + 2, kTop - 31, kTop - 13, x + 10, kTop - 18, xml_text(chart.mark));
}

}  // namespace

std::string svg_of(const BarChart& chart) {
  const int height = height_of(chart);
  const charts::Axis axis = axis_of(chart);
  std::string svg = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 "
      "{0} {1}\" font-family=\"Inter, 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif\" "
      "font-size=\"{2}\" fill=\"{3}\">\n"
      "<title>{4}</title>\n"
      "<style>.grid{{stroke:{5}}}.tick{{font-size:12px;fill:{6}}}.mark{{stroke:{3};stroke-width:2}}"
      ".spread{{stroke:{3};stroke-opacity:0.5}}.group{{font-weight:600}}</style>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n"
      "<text x=\"16\" y=\"{7}\" font-size=\"16\" font-weight=\"600\">{4}</text>\n"
      "<text class=\"tick\" x=\"16\" y=\"{8}\">{9}</text>\n",
      kPageWidth, height, kFontSize, hex(kInk), xml_text(chart.title), hex(kGridInk), hex(kFaintInk),
      kTitleBaseline, kTitleBaseline + 18, xml_text(chart.subtitle));
  draw_axis(chart, axis, height - kBelow, svg);
  draw_keys(chart, svg);
  int y = kTop;
  for (const BarGroup& group : chart.groups) {
    if (!group.title.empty()) {
      fmt::format_to(std::back_inserter(svg), "<text class=\"group\" x=\"16\" y=\"{}\">{}</text>\n", y + 18,
                     xml_text(files::escaped(group.title)));
      y += kGroupTitle;
    }
    for (const ChartBar& bar : group.bars) {
      draw_bar(bar, axis, y, svg);
      y += kRow;
    }
  }
  return svg + "</svg>\n";
}

}  // namespace warpscope::runs
