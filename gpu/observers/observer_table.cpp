#include "gpu/observers/observer_table.h"

namespace warpscope::training {

std::vector<std::unique_ptr<Observer>> make_observers() {
  std::vector<std::unique_ptr<Observer>> observers;
  for (const auto make :
       {make_inspector, make_distribution_observer, make_latent_mapper, make_latent_decoder, make_comparer,
        make_weights_observer, make_feature_prober, make_activation_observer, make_augmented_observer,
        make_typed_text_observer, make_held_out_text_observer, make_comparison_rehearsal}) {
    observers.push_back(make());
  }
  return observers;
}

}  // namespace warpscope::training
