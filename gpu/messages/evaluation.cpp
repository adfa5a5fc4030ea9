#include "gpu/messages/evaluation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace warpscope::training {
namespace {

/// As points and files hold it, so that all of them show the same digits.
double as_float(double value) {
  return static_cast<double>(static_cast<float>(value));
}

double psnr_of(double mean_squared_error) {
  return -10.0 * std::log10(std::max(mean_squared_error, 1e-12));
}

void count_classes(Evaluation& evaluation, const std::uint8_t* labels) {
  const auto classes = static_cast<std::size_t>(evaluation.classes);
  evaluation.confusion.assign(classes * classes, 0);
  std::size_t right = 0;
  for (std::size_t i = 0; i < evaluation.predicted.size(); ++i) {
    ++evaluation.confusion[labels[i] * classes + evaluation.predicted[i]];
    right += labels[i] == evaluation.predicted[i];
  }
  evaluation.accuracy =
      as_float(static_cast<double>(right) / static_cast<double>(evaluation.predicted.size()));
}

}  // namespace

std::string_view to_string(Split split) {
  if (split == Split::train) return "train";
  return split == Split::validation ? "validation" : "test";
}

void summarize(Evaluation& evaluation, const std::uint8_t* labels) {
  const auto count = static_cast<double>(evaluation.image_losses.size());
  evaluation.loss = evaluation.psnr = 0;
  for (const float loss : evaluation.image_losses) {
    evaluation.loss += static_cast<double>(loss);
    if (evaluation.classes == 0) evaluation.psnr += psnr_of(static_cast<double>(loss));
  }
  evaluation.loss = as_float(evaluation.loss / count);
  evaluation.psnr = as_float(evaluation.psnr / count);
  if (evaluation.classes > 0) count_classes(evaluation, labels);
}

void judge_head(Evaluation& evaluation, std::span<const float> losses,
                std::span<const std::uint8_t> predicted, std::span<const std::uint8_t> labels) {
  const auto count = static_cast<double>(losses.size());
  evaluation.head = true;
  evaluation.head_loss = as_float(std::accumulate(losses.begin(), losses.end(), 0.0) / count);
  std::size_t right = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) right += predicted[i] == labels[i];
  evaluation.head_accuracy = as_float(static_cast<double>(right) / count);
}

}  // namespace warpscope::training
