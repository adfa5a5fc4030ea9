// The program with a window whose training loses its device after a while, as by a kernel of a user that fails only on
// later data.

#include <memory>
#include <utility>

#include "gpu/remote/lasting_training.h"
#include "tests/support/failing_variant.h"
#include "ui/frame/open_training.h"

namespace warpscope::ui {

std::shared_ptr<training::Source> open_training(training::TrainerOptions options) {
  constexpr int kCalls = 1000;
  options.variants = tests::with_failing_relu(kCalls);
  options.select = "relu.forward=user:failing";
  options.precision = core::Precision::fp32;
  return std::make_shared<remote::LastingTraining>(std::move(options));
}

}  // namespace warpscope::ui
