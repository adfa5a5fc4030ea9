#include "ui/frame/open_training.h"

#include <utility>

namespace warpscope::ui {

std::shared_ptr<training::Source> open_training(training::TrainerOptions options) {
  return std::make_shared<training::Trainer>(std::move(options));
}

}  // namespace warpscope::ui
