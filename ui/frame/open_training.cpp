#include "ui/frame/open_training.h"

#include <utility>

#include "gpu/remote/lasting_training.h"

namespace warpscope::ui {

std::shared_ptr<training::Source> open_training(training::TrainerOptions options) {
  return std::make_shared<remote::LastingTraining>(std::move(options));
}

}  // namespace warpscope::ui
