// One recorded run is told by run.json, `warpscope runs`, the window, CSV and the curves: what has one name is one
// number.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu/core/quantile.h"
#include "gpu/export/export.h"
#include "gpu/runs/curves.h"
#include "gpu/runs/figure_table.h"
#include "gpu/runs/run_recorder.h"
#include "gpu/runs/run_view.h"
#include "gpu/runs/summary.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/points.h"
#include "ui/panels/runs/run_rows.h"
#include "ui/panels/training/results_rows.h"

namespace warpscope::ui::one_figure_test {
namespace {

using nlohmann::json;
using training::FeedItem;
using training::Figure;
using training::Metric;
using training::Point;
using training::RunFigures;

/// Under each name all that was told: the value, and where.
class Told {
 public:
  void add(const std::string& name, double value, const std::string& where) {
    if (!std::isnan(value)) values_[name][fmt::format("{:.8g}", value)].insert(where);
  }
  void expect_one_value_a_name() const {
    for (const auto& [name, values] : values_) {
      std::string all;
      for (const auto& [value, places] : values) all += value + " in " + *places.begin() + "; ";
      EXPECT_EQ(values.size(), 1u) << name << " is " << all;
    }
  }
  std::size_t places_of(const std::string& name) const {
    std::size_t count = 0;
    for (const auto& [value, places] : values_.at(name)) count += places.size();
    return count;
  }

 private:
  std::map<std::string, std::map<std::string, std::set<std::string>>> values_;
};

/// 173 steps whose losses, accuracies and speeds all differ, tests and evaluations of validation images between them.
std::vector<FeedItem> points() {
  std::vector<FeedItem> items;
  for (std::uint64_t n = 1; n <= 173; ++n) {
    const auto step = static_cast<double>(n);
    Point point = tests::step_point(n, step / 7, static_cast<float>(3 / step), 0.1f / static_cast<float>(n),
                                    n % 60 == 1 ? 0 : 1000 + 377 * std::sin(step), step / 13);
    point[Metric::accuracy] = static_cast<float>(n % 9) / 8;
    point[Metric::gradient_norm] = static_cast<float>(1 / step);
    point[Metric::update_ratio] = static_cast<float>(1e-3 / step);
    items.emplace_back(point);
    if (n % 60 != 0 && n != 173) continue;
    const auto add = [&](training::Split split, float times) {
      const float loss = times / static_cast<float>(n);
      items.emplace_back(tests::test_point(n, step / 7, step / 13, loss, tests::kNone, 1 - 2 * loss, split));
    };
    add(training::Split::validation, 1.0f);
    add(training::Split::test, 1.5f);
  }
  return items;
}

void add_run_figures(const RunFigures& figures, const std::string& where, Told& told) {
  for (const Figure& figure : training::run_figures()) told.add(figure.key, figure.of(figures), where);
}

/// The last value of each column.
void add_csv(const std::string& csv, Told& told) {
  std::istringstream text(csv);
  const auto cells_of = [](std::string line) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    return cells;
  };
  std::string line;
  std::getline(text, line);
  const std::vector<std::string> names = cells_of(line);
  std::map<std::string, double> last;
  while (std::getline(text, line)) {
    const std::vector<std::string> cells = cells_of(line);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!cells[i].empty()) last[names[i]] = std::stod(cells[i]);
    }
  }
  for (const auto& [name, value] : last) told.add(name, value, "CSV");
}

class OneFigure : public testing::Test {
 protected:
  OneFigure() {
    const auto feed = std::make_shared<training::Feed>();
    training::RunRecorder recorder(
        training::RunFolder::create((folder / "run").string()), feed,
        {{"classifies", true}, {"configuration", {{"model", "mlp"}, {"learning_rate", 0.3}}}});
    feed->push(points());
    recorder.finish("finished", "");
    run = runs::read_run(folder / "run");
  }
  /// What the window shows of the run.
  training::Snapshot viewed() const {
    runs::RunFollower follower(folder / "run");
    runs::RunView view(folder / "run");
    const runs::RunUpdate update = follower.poll(1 << 30);
    view.look(follower.run(), update, runs::Liveness::Clock::now());
    return view.snapshot();
  }
  const tests::TemporaryFolder folder;
  runs::Run run;
};

TEST_F(OneFigure, HasOneNameAndOneValueEverywhere) {
  Told told;
  for (const auto& [key, value] : run.head.items()) {
    if (value.is_number()) told.add(key, value.get<double>(), "run.json");
  }
  add_run_figures(runs::summarize(run), "runs, finished", told);
  const json listed = runs::json_of(runs::summarize(run));
  for (const auto& [key, value] : listed.items()) {
    if (value.is_number()) told.add(key, value.get<double>(), "runs --json");
  }
  add_run_figures(training::FigureTally(run.points).figures(), "runs, by its points", told);
  add_run_figures(summary_of(viewed(), nullptr), "own row of the window", told);
  add_csv(runs::csv_of(run.points), told);
  for (const Figure& figure : training::series_figures()) {
    const runs::Curve curve = runs::curve_of(run.points, figure.key, runs::Over::step);
    if (!curve.y.empty()) told.add(figure.key, curve.y.back(), "curve");
  }
  told.expect_one_value_a_name();
  EXPECT_EQ(told.places_of("test_loss"), 7u);
  EXPECT_EQ(told.places_of("final_train_loss"), 5u);
  EXPECT_EQ(told.places_of("median_images_per_second"), 5u);
  EXPECT_EQ(told.places_of("train_accuracy"), 2u) << "of one batch: no figure of the run";
}

TEST_F(OneFigure, IsWhatResultsShow) {
  const training::Snapshot snapshot = viewed();
  std::map<std::string, std::string> cells;
  for (const ResultCell& cell : loss_cells(snapshot)) cells[cell.label] = cell.value;
  const RunFigures figures = runs::summarize(run);
  EXPECT_EQ(cells.at("mean train loss"), fmt::format("{:.5f}", figures.final_train_loss));
  EXPECT_EQ(cells.at("mean train accuracy"), fmt::format("{:.2f}", 100 * figures.final_train_accuracy));
  EXPECT_EQ(cells.at("validation loss"), fmt::format("{:.5f}", figures.validation_loss));
  EXPECT_EQ(cells.at("validation accuracy"), fmt::format("{:.2f}", 100 * figures.validation_accuracy));
  EXPECT_EQ(cells.at("test loss"), fmt::format("{:.5f}", figures.test_loss));
  EXPECT_EQ(cells.at("test accuracy"), fmt::format("{:.2f}", 100 * figures.accuracy));
  EXPECT_FALSE(cells.contains("train accuracy")) << "that of one batch says little";
}

TEST_F(OneFigure, OnlyATrainingThatRunsHasASpeedOfNow) {
  training::Snapshot snapshot = viewed();
  snapshot.images_per_second = 4321;
  ASSERT_EQ(snapshot.state, training::TrainerState::finished);
  EXPECT_EQ(speed_of(snapshot).label, std::string("median images/s"));
  EXPECT_EQ(fmt::format("{:.8g}", speed_of(snapshot).images_per_second),
            fmt::format("{:.8g}", run.head["median_images_per_second"].get<double>()));
  snapshot.state = training::TrainerState::paused;
  EXPECT_EQ(speed_of(snapshot).label, std::string("median images/s"));
  snapshot.state = training::TrainerState::running;
  EXPECT_EQ(speed_of(snapshot).label, std::string("images/s now"));
  EXPECT_EQ(speed_of(snapshot).images_per_second, 4321);
  snapshot.awaited = "rank 1 has not come to all-reduce nccl, step 42 within 0.7 s";
  EXPECT_EQ(speed_of(snapshot).images_per_second, 0) << "no step is made meanwhile";
  EXPECT_EQ(speed_of({}).images_per_second, 0);
  for (const char* const label : {"median images/s", "images/s now"})
    EXPECT_NE(training::find_figure(label), nullptr) << label;
}

TEST_F(OneFigure, TheSpeedOfTheLastSecondIsTakenFromItsSteps) {
  const runs::PointTable& steps = run.points.steps;
  std::vector<double> speeds;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps.seconds[i] > steps.seconds.back() - 1)
      speeds.push_back(steps.find("images_per_second")->values[i]);
  }
  std::sort(speeds.begin(), speeds.end());
  ASSERT_GE(speeds.size(), 13u) << "thirteen steps a second";
  EXPECT_DOUBLE_EQ(viewed().images_per_second, core::quantile(speeds, 0.5));
}

TEST(FigureTable, NamesAreUsedOnceAndExplained) {
  std::set<std::string> keys, names;
  for (const Figure& figure : training::run_figures()) {
    EXPECT_TRUE(keys.insert(figure.key).second) << figure.key;
    EXPECT_TRUE(names.insert(figure.name).second) << figure.name;
  }
  std::set<std::string> series;
  for (const Figure& figure : training::series_figures())
    EXPECT_TRUE(series.insert(figure.key).second) << figure.key;
  for (const auto& figures :
       {training::run_figures(), training::series_figures(), training::window_figures()}) {
    for (const Figure& figure : figures) {
      for (const std::string sentence : {figure.meaning, figure.measured}) {
        ASSERT_FALSE(sentence.empty()) << figure.name;
        EXPECT_EQ(sentence.back(), '.') << sentence;
      }
    }
  }
  EXPECT_EQ(training::find_figure("median images/s")->key, std::string("median_images_per_second"));
  EXPECT_EQ(training::find_figure("images"), nullptr);
}

}  // namespace
}  // namespace warpscope::ui::one_figure_test
