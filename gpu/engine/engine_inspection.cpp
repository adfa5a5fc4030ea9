// Engine: a look into the network at one image.

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/engine/engine.h"

namespace warpscope::training {

bool Engine::inspect(std::int64_t image) {
  if (image < 0 || image >= data_->test.count) {
    throw core::BadInput(
        fmt::format("there is no test image {}; there are {}, from 0", image, data_->test.count));
  }
  if (inspector_ && inspector_->selection() != options_.selection) {
    if (inspector_->busy()) return false;
    inspector_.reset();
  }
  if (!inspector_) {
    inspector_ = std::make_unique<Inspector>(options_.model, options_.selection, device_, *stream_,
                                             held_out_bindings());
  }
  Inspection what;
  what.step = steps_;
  what.image = image;
  const bool started = inspector_->start(first_of(Split::test) + image, what,
                                         {parameters_, gradients_, control_.as<ops::step::StepControl>()});
  if (started) interrupted_ = true;
  return started;
}

std::optional<Inspection> Engine::take_inspection() {
  return inspector_ ? inspector_->take() : std::nullopt;
}

}  // namespace warpscope::training
