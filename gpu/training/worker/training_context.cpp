#include "gpu/training/worker/training_context.h"

namespace warpscope::training {

TrainingContext::TrainingContext(const TrainerOptions& options)
    : around(options),
      history(options.shown_images > 0 && options.model.loss == models::Loss::mse
                  ? std::make_shared<ImageHistory>()
                  : nullptr),
      showing(history, options.image_seconds) {}

}  // namespace warpscope::training
