#pragma once
// All observers there are.

#include <memory>
#include <vector>

#include "gpu/observers/observer.h"

namespace warpscope::training {

/// Each is in the file named for it, which says what it shows.
std::unique_ptr<Observer> make_inspector(), make_distribution_observer(), make_latent_mapper(),
    make_latent_decoder(), make_comparer(), make_weights_observer(), make_feature_prober(),
    make_activation_observer(), make_augmented_observer(), make_typed_text_observer(),
    make_held_out_text_observer(), make_comparison_rehearsal();

/// One of each kind.
std::vector<std::unique_ptr<Observer>> make_observers();

}  // namespace warpscope::training
