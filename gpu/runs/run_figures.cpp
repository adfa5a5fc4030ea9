#include "gpu/runs/run_figures.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include <fmt/format.h>

#include "gpu/runs/figure_table.h"

namespace warpscope::training {
namespace {

double number_in(const nlohmann::json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? found->get<double>() : RunFigures::kNone;
}

bool is_true(const nlohmann::json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && *found == true;
}

/// What the line of a step, a test or a probe of features holds.
Point point_of(const nlohmann::json& line, std::uint64_t step, bool is_step) {
  Point point{step, number_in(line, "epoch"), number_in(line, "seconds")};
  const auto split = line.find("split");
  const bool validation = split != line.end() && *split == to_string(Split::validation);
  if (!is_step) point.split = validation ? Split::validation : Split::test;
  point.skipped = is_step && is_true(line, "skipped");
  for (const MetricRow& row : metrics()) {
    const bool test_loss = point.split != Split::train && row.metric == Metric::loss;
    point[row.metric] = static_cast<float>(number_in(line, test_loss ? "test_loss" : row.key.c_str()));
  }
  return point;
}

}  // namespace

std::optional<FeedItem> item_of(const nlohmann::json& line) {
  const auto step = line.find("step");
  if (step == line.end() || !step->is_number_unsigned()) return {};
  const auto number = step->get<std::uint64_t>();
  if (const auto marker = line.find("marker"); marker != line.end()) {
    if (!marker->is_string()) return {};
    if (number == 0 && *marker == "reset") return Restart{};
    const double seconds = number_in(line, "seconds");
    return Marker{number, std::isnan(seconds) ? 0 : seconds, *marker, is_true(line, "anew")};
  }
  const bool is_test = line.contains("test_loss") || line.contains(row_of(Metric::feature_accuracy).key);
  if (is_test) return point_of(line, number, false);
  if (number == 0 || !line.contains("loss")) return {};
  return point_of(line, number, true);
}

std::string written_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.9g}", value) : "null";
}

RunFigures as_written(RunFigures figures) {
  for (const Figure& figure : run_figures()) {
    double& value = figures.*figure.value;
    value = std::isfinite(value) ? std::stod(written_number(value)) : RunFigures::kNone;
  }
  return figures;
}

double FigureTally::Recent::mean() const {
  const std::size_t known = std::min(count, kFinalSteps);
  if (known == 0) return RunFigures::kNone;
  // In the order of the steps, so that a run that is read again has the same bits.
  double sum = 0;
  for (std::size_t i = count - known; i < count; ++i) sum += static_cast<double>(values[i % kFinalSteps]);
  return sum / static_cast<double>(known);
}

FigureTally::FigureTally(const runs::RunPoints& points) {
  const runs::MetricColumns steps(points.steps, Split::train);
  for (std::size_t i = 0; i < points.steps.size(); ++i) note(steps.at(i));
  for (const Point& test : runs::tests_of(points.tests)) note(test);
}

void FigureTally::note_step(const Point& point) {
  figures_.steps = point.step;
  figures_.epochs = point.epoch;
  figures_.seconds = point.seconds;
  figures_.last_train_loss = static_cast<double>(point[Metric::loss]);
  losses_.add(point[Metric::loss]);
  accuracies_.add(point[Metric::accuracy]);
  if (point[Metric::images_per_second] > 0) speeds_.add(point[Metric::images_per_second]);
}

void FigureTally::note(const Point& point) {
  if (point.split == Split::train) return note_step(point);
  if (point.is_probe()) return;
  const bool validation = point.split == Split::validation;
  const auto value = [&](Metric metric) { return static_cast<double>(point[metric]); };
  (validation ? figures_.validation_loss : figures_.test_loss) = value(Metric::loss);
  (validation ? figures_.validation_psnr : figures_.psnr) = value(Metric::psnr);
  (validation ? figures_.validation_accuracy : figures_.accuracy) = value(Metric::accuracy);
  if (validation) return;
  figures_.head_loss = value(Metric::head_loss);
  figures_.head_accuracy = value(Metric::head_accuracy);
}

void FigureTally::note(const FeedItem& item) {
  if (const auto* point = std::get_if<Point>(&item)) note(*point);
  if (std::holds_alternative<Restart>(item)) reset();
}

void FigureTally::note(const nlohmann::json& line) {
  if (const auto item = item_of(line)) note(*item);
}

void FigureTally::reset() {
  *this = {};
}

void FigureTally::back_to(const Mark& mark) {
  figures_ = mark.figures;
  losses_ = mark.losses;
  accuracies_ = mark.accuracies;
  speeds_.truncate(mark.speeds);
}

RunFigures FigureTally::figures() const {
  RunFigures figures = figures_;
  figures.final_train_loss = losses_.mean();
  figures.final_train_accuracy = accuracies_.mean();
  figures.median_images_per_second = speeds_.value();
  return figures;
}

}  // namespace warpscope::training
