// The program with a window that sees its training through pipes, as one in another process would.

#include <memory>
#include <utility>

#include "tests/support/pipe_source.h"
#include "ui/frame/open_training.h"

namespace warpscope::ui {

std::shared_ptr<training::Source> open_training(training::TrainerOptions options) {
  return tests::through_pipes(std::make_shared<training::Trainer>(std::move(options)));
}

}  // namespace warpscope::ui
