#include "gpu/runs/run_figures.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

namespace warpscope::training {
namespace {

constexpr std::size_t kFinalSteps = 50;

double number_in(const nlohmann::json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? found->get<double>() : RunFigures::kNone;
}

float single_in(const nlohmann::json& line, const char* key) {
  return static_cast<float>(number_in(line, key));
}

}  // namespace

void FigureTally::note(const LossPoint& point) {
  figures_.steps = point.step;
  figures_.epochs = point.epoch;
  figures_.seconds = point.seconds;
  figures_.last_train_loss = static_cast<double>(point.loss);
  if (last_losses_.size() < kFinalSteps) {
    last_losses_.push_back(point.loss);
  } else {
    last_losses_[(point.step - 1) % kFinalSteps] = point.loss;
  }
  if (point.images_per_second > 0) speeds_.push_back(static_cast<float>(point.images_per_second));
}

void FigureTally::note(const TestPoint& test) {
  const bool validation = test.split == Split::validation;
  (validation ? figures_.validation_loss : figures_.test_loss) = static_cast<double>(test.loss);
  if (validation && !std::isnan(figures_.test_loss)) return;
  figures_.psnr = static_cast<double>(test.psnr);
  figures_.accuracy = static_cast<double>(test.accuracy);
  figures_.head_loss = static_cast<double>(test.head_loss);
  figures_.head_accuracy = static_cast<double>(test.head_accuracy);
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
    note(point);
  }
}

void FigureTally::reset() {
  *this = {};
}

RunFigures FigureTally::figures() const {
  RunFigures figures = figures_;
  if (!last_losses_.empty()) {
    figures.final_train_loss = std::accumulate(last_losses_.begin(), last_losses_.end(), 0.0) /
                               static_cast<double>(last_losses_.size());
  }
  if (!speeds_.empty()) {
    std::vector<float> sorted = speeds_;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    figures.images_per_second = static_cast<double>(*middle);
  }
  return figures;
}

}  // namespace warpscope::training
