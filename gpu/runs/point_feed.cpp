#include <algorithm>
#include <cmath>
#include <limits>

#include "gpu/runs/run_view.h"

namespace warpscope::runs {
namespace {

using training::FeedItem;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

/// A column of a table, or nothing.
class Column {
 public:
  Column(const PointTable& table, std::string_view name) : series_(table.find(name)) {}
  /// NaN, or `missing` if the table has no such column at all.
  double at(std::size_t row, double missing = 0) const {
    return series_ == nullptr ? missing : series_->values[row];
  }
  float single(std::size_t row, double missing = 0) const { return static_cast<float>(at(row, missing)); }
  bool has(std::size_t row) const { return series_ != nullptr && !std::isnan(series_->values[row]); }

 private:
  const Series* series_;
};

double known(double value) {
  return std::isnan(value) ? 0 : value;
}

void add_steps(const PointTable& table, std::size_t first, std::vector<FeedItem>& items) {
  const Column loss(table, "train_loss"), rate(table, "scheduled_rate"), speed(table, "images_per_second"),
      scale(table, "loss_scale"), skipped(table, "skipped"), accuracy(table, "train_accuracy"),
      norm(table, "gradient_norm"), ratio(table, "update_ratio"), head_loss(table, "train_head_loss"),
      head_accuracy(table, "train_head_accuracy");
  for (std::size_t i = first; i < table.size(); ++i) {
    training::LossPoint point;
    point.step = table.step[i];
    point.epoch = known(table.epoch[i]);
    point.loss = loss.single(i);
    point.learning_rate = rate.single(i);
    point.images_per_second = known(speed.at(i));
    point.seconds = known(table.seconds[i]);
    point.loss_scale = scale.has(i) ? scale.single(i) : 1;
    point.skipped = skipped.has(i) && skipped.at(i) != 0;
    point.accuracy = accuracy.single(i);
    point.gradient_norm = norm.single(i);
    point.update_ratio = ratio.single(i);
    point.head_loss = head_loss.single(i, kMissing);
    point.head_accuracy = head_accuracy.single(i, kMissing);
    items.emplace_back(point);
  }
}

void add_tests(const PointTable& table, std::size_t first, std::vector<FeedItem>& items) {
  for (const auto& [split, name] : {std::pair(training::Split::validation, std::string("validation")),
                                    std::pair(training::Split::test, std::string("test"))}) {
    const Column loss(table, name + "_loss"), psnr(table, name + "_psnr"),
        accuracy(table, name + "_accuracy"), head_loss(table, name + "_head_loss"),
        head_accuracy(table, name + "_head_accuracy");
    for (std::size_t i = first; i < table.size(); ++i) {
      if (!loss.has(i) && !psnr.has(i) && !accuracy.has(i)) continue;
      items.emplace_back(training::TestPoint{
          table.step[i], known(table.epoch[i]), known(table.seconds[i]), loss.single(i), psnr.single(i),
          accuracy.single(i), split, head_loss.single(i, kMissing), head_accuracy.single(i, kMissing)});
    }
  }
}

void add_probes(const PointTable& table, std::size_t first, std::vector<FeedItem>& items) {
  const Column accuracy(table, "test_feature_accuracy");
  for (std::size_t i = first; i < table.size(); ++i) {
    if (!accuracy.has(i)) continue;
    items.emplace_back(training::ProbePoint{table.step[i], known(table.epoch[i]), known(table.seconds[i]),
                                            accuracy.single(i)});
  }
}

/// The value that tells one reading of a row from another.
double value_of(const PointTable& table, std::size_t row) {
  return table.series.empty() ? 0 : table.series.front().values[row];
}

bool equal(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

std::size_t PointFeed::kept(const std::vector<Sent>& sent, const PointTable& table) {
  const std::size_t most = std::min(sent.size(), table.size());
  std::size_t same = 0;
  while (same < most && sent[same].step == table.step[same] && equal(sent[same].value, value_of(table, same)))
    ++same;
  return same;
}

void PointFeed::note(std::vector<Sent>& sent, const PointTable& table, std::size_t first) {
  sent.resize(first);
  for (std::size_t i = first; i < table.size(); ++i) sent.push_back({table.step[i], value_of(table, i)});
}

std::vector<FeedItem> PointFeed::take(const RunPoints& points, bool restarted) {
  std::vector<FeedItem> items;
  if (points.resets != generation_) {
    const bool any = !steps_.empty() || !tests_.empty() || markers_ > 0;
    generation_ = points.resets;
    steps_.clear();
    tests_.clear();
    markers_ = 0;
    if (any) items.emplace_back(training::Restart{generation_});
  }
  const std::size_t step = restarted ? kept(steps_, points.steps) : steps_.size();
  const std::size_t test = restarted ? kept(tests_, points.tests) : tests_.size();
  add_steps(points.steps, step, items);
  add_tests(points.tests, test, items);
  add_probes(points.tests, test, items);
  // Markers are only ever added, but for a run that was cut back: those that are left were sent.
  for (std::size_t i = std::min(markers_, points.markers.size()); i < points.markers.size(); ++i) {
    const RunMarker& marker = points.markers[i];
    items.emplace_back(training::Marker{marker.step, known(marker.seconds), marker.text});
  }
  note(steps_, points.steps, step);
  note(tests_, points.tests, test);
  markers_ = points.markers.size();
  return items;
}

}  // namespace warpscope::runs
