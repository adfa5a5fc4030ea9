#include "gpu/observers/activation_observer.h"

#include <utility>

namespace warpscope::training {

bool ActivationObserver::ask(const ObservationRequest& request) {
  if (request.activations_of == output_) return false;
  output_ = request.activations_of;
  return true;
}

bool ActivationObserver::start(const Scene& scene) {
  if (pass_ && pass_->selection() != scene.selection) {
    if (pass_->busy()) return false;
    pass_.reset();
  }
  if (!pass_) pass_ = std::make_unique<ActivationPass>(scene);
  return pass_->start(scene, output_.value());
}

bool ActivationObserver::take(Observations& seen) {
  auto found = pass_ ? pass_->take() : std::nullopt;
  if (!found || found->output != output_) return false;
  found->number = ++taken_;
  seen.activations = std::make_shared<const ChannelActivations>(*std::move(found));
  return true;
}

void ActivationObserver::end(Observations& seen) {
  pass_.reset();
  seen.activations = nullptr;
}

}  // namespace warpscope::training
