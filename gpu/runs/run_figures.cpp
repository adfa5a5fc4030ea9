#include "gpu/runs/run_figures.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "gpu/runs/figure_table.h"

namespace warpscope::training {
namespace {

double number_in(const nlohmann::json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? found->get<double>() : RunFigures::kNone;
}

float single_in(const nlohmann::json& line, const char* key) {
  return static_cast<float>(number_in(line, key));
}

/// A column of a table; NaN where it has none.
class Column {
 public:
  Column(const runs::PointTable& table, std::string_view name) : series_(table.find(name)) {}
  float at(std::size_t row) const {
    return series_ == nullptr ? kNoFigure : static_cast<float>(series_->values[row]);
  }

 private:
  const runs::Series* series_;
};

}  // namespace

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
  const runs::PointTable& steps = points.steps;
  const Column loss(steps, "train_loss"), speed(steps, "images_per_second"),
      accuracy(steps, "train_accuracy");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    LossPoint point{steps.step[i], steps.epoch[i], loss.at(i)};
    point.images_per_second = static_cast<double>(speed.at(i));
    point.seconds = steps.seconds[i];
    point.accuracy = accuracy.at(i);
    note(point);
  }
  note_tests(points.tests, Split::validation);
  note_tests(points.tests, Split::test);
}

void FigureTally::note_tests(const runs::PointTable& table, Split split) {
  const std::string name(to_string(split));
  const Column loss(table, name + "_loss"), psnr(table, name + "_psnr"), accuracy(table, name + "_accuracy"),
      head_loss(table, name + "_head_loss"), head_accuracy(table, name + "_head_accuracy");
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (std::isnan(loss.at(i)) && std::isnan(psnr.at(i)) && std::isnan(accuracy.at(i))) continue;
    note(TestPoint{table.step[i], table.epoch[i], table.seconds[i], loss.at(i), psnr.at(i), accuracy.at(i),
                   split, head_loss.at(i), head_accuracy.at(i)});
  }
}

void FigureTally::note(const LossPoint& point) {
  figures_.steps = point.step;
  figures_.epochs = point.epoch;
  figures_.seconds = point.seconds;
  figures_.last_train_loss = static_cast<double>(point.loss);
  losses_.add(point.loss);
  accuracies_.add(point.accuracy);
  // 0 stands for the first step after a pause.
  if (point.images_per_second > 0) speeds_.add(static_cast<float>(point.images_per_second));
}

void FigureTally::note(const TestPoint& test) {
  const bool validation = test.split == Split::validation;
  (validation ? figures_.validation_loss : figures_.test_loss) = static_cast<double>(test.loss);
  (validation ? figures_.validation_psnr : figures_.psnr) = static_cast<double>(test.psnr);
  (validation ? figures_.validation_accuracy : figures_.accuracy) = static_cast<double>(test.accuracy);
  if (validation) return;
  figures_.head_loss = static_cast<double>(test.head_loss);
  figures_.head_accuracy = static_cast<double>(test.head_accuracy);
}

void FigureTally::note(const FeedItem& item) {
  if (const auto* point = std::get_if<LossPoint>(&item)) note(*point);
  if (const auto* test = std::get_if<TestPoint>(&item)) note(*test);
  if (std::holds_alternative<Restart>(item)) reset();
}

void FigureTally::note(const nlohmann::json& line) {
  if (line.contains("marker")) {
    if (line["marker"] == "reset") reset();
    return;
  }
  const auto step = line.find("step");
  if (step == line.end() || !step->is_number_unsigned()) return;
  const double epoch = number_in(line, "epoch"), seconds = number_in(line, "seconds");
  if (line.contains("test_loss")) {
    const auto split = line.find("split");
    const bool validation = split != line.end() && *split == to_string(Split::validation);
    note(TestPoint{step->get<std::uint64_t>(), epoch, seconds, single_in(line, "test_loss"),
                   single_in(line, "psnr"), single_in(line, "accuracy"),
                   validation ? Split::validation : Split::test, single_in(line, "head_loss"),
                   single_in(line, "head_accuracy")});
  } else if (line.contains("loss") && *step != 0) {
    LossPoint point{step->get<std::uint64_t>(), epoch, single_in(line, "loss")};
    point.images_per_second = number_in(line, "images_per_second");
    point.seconds = seconds;
    point.accuracy = single_in(line, "accuracy");
    note(point);
  }
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

RunFigures FigureTally::figures(bool classifies) const {
  RunFigures told = figures();
  if (classifies) {
    told.psnr = told.validation_psnr = RunFigures::kNone;
  } else {
    told.final_train_accuracy = told.accuracy = told.validation_accuracy = RunFigures::kNone;
  }
  return told;
}

}  // namespace warpscope::training
