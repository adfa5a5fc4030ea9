#include "ui/plot/range_sums.h"

#include <algorithm>
#include <cmath>

namespace warpscope::ui::plot {
namespace {

constexpr std::size_t kBlock = 1024;

}  // namespace

double Fit::at(double x) const {
  const double v = mean_v + slope * ((axes.log_x ? std::log(x) : x) - mean_u);
  return axes.log_y ? std::exp(v) : v;
}

void Moments::add(double x, double y, Axes axes) {
  if (!std::isfinite(y)) return;
  ++count;
  mean += (y - mean) / count;
  if ((axes.log_x && x <= 0) || (axes.log_y && y <= 0)) return;
  const double u = axes.log_x ? std::log(x) : x, v = axes.log_y ? std::log(y) : y;
  ++placed;
  const double from_u = u - mean_u, from_v = v - mean_v;
  mean_u += from_u / placed;
  mean_v += from_v / placed;
  uu += from_u * (u - mean_u);
  uv += from_u * (v - mean_v);
  vv += from_v * (v - mean_v);
}

void Moments::merge(const Moments& other) {
  if (other.count > 0) {
    count += other.count;
    mean += (other.mean - mean) * other.count / count;
  }
  if (other.placed == 0) return;
  const double from_u = other.mean_u - mean_u, from_v = other.mean_v - mean_v;
  const double weight = placed * other.placed / (placed + other.placed);
  placed += other.placed;
  mean_u += from_u * other.placed / placed;
  mean_v += from_v * other.placed / placed;
  uu += other.uu + from_u * from_u * weight;
  uv += other.uv + from_u * from_v * weight;
  vv += other.vv + from_v * from_v * weight;
}

bool RangeSums::follow(const Series& series, Axes axes, std::size_t most) {
  const bool same = series_ == &series && generation_ == series.generation() && axes_ == axes;
  if (!same || blocks_.size() * kBlock > series.size()) {
    blocks_.clear();
    series_ = &series;
    generation_ = series.generation();
    axes_ = axes;
  }
  const std::size_t whole = series.size() / kBlock;
  const std::size_t wanted = std::min(whole, blocks_.size() + most / kBlock);
  for (std::size_t block = blocks_.size(); block < wanted; ++block) {
    Moments moments;
    for (std::size_t i = block * kBlock; i < (block + 1) * kBlock; ++i)
      moments.add(series.x(i), static_cast<double>(series.y(i)), axes);
    blocks_.push_back(moments);
  }
  return blocks_.size() == whole;
}

Moments RangeSums::sum(const Series& series, std::size_t first, std::size_t last) const {
  Moments sum;
  for (std::size_t i = first; i < last;) {
    if (i % kBlock == 0 && i + kBlock <= last && i / kBlock < blocks_.size()) {
      sum.merge(blocks_[i / kBlock]);
      i += kBlock;
    } else {
      sum.add(series.x(i), static_cast<double>(series.y(i)), axes_);
      ++i;
    }
  }
  return sum;
}

RangeFigures RangeSums::figures(const Series& series, std::size_t first, std::size_t last) const {
  last = std::min(last, series.size());
  RangeFigures figures;
  if (first >= last) return figures;
  const Moments sums = sum(series, first, last);
  const Extent extent = series.extent(first, last);
  figures.points = static_cast<std::size_t>(sums.count);
  if (figures.points == 0) return figures;
  figures.mean = sums.mean;
  figures.low = static_cast<double>(extent.low);
  figures.high = static_cast<double>(extent.high);
  Fit& fit = figures.fit;
  fit.axes = axes_;
  fit.mean_u = sums.mean_u;
  fit.mean_v = sums.mean_v;
  fit.valid = sums.placed >= 2 && sums.uu > 0;
  if (!fit.valid) return figures;
  fit.slope = sums.uv / sums.uu;
  fit.r2 = sums.vv > 0 ? sums.uv * sums.uv / (sums.uu * sums.vv) : 1;
  return figures;
}

}  // namespace warpscope::ui::plot
