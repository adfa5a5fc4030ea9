#include "gpu/observers/observer_table.h"

#include "gpu/observers/activation_observer.h"
#include "gpu/observers/augmented_observer.h"
#include "gpu/observers/comparer.h"
#include "gpu/observers/comparison_rehearsal.h"
#include "gpu/observers/distribution_observer.h"
#include "gpu/observers/feature_prober.h"
#include "gpu/observers/inspector.h"
#include "gpu/observers/latent_decoder.h"
#include "gpu/observers/latent_mapper.h"
#include "gpu/observers/text_observers.h"
#include "gpu/observers/weights_observer.h"

namespace warpscope::training {
namespace {

template <class Kind>
std::unique_ptr<Observer> make() {
  return std::make_unique<Kind>();
}

/// A row a kind.
constexpr std::unique_ptr<Observer> (*kKinds[])() = {
    make<Inspector>,         make<DistributionObserver>, make<LatentMapper>,        make<LatentDecoder>,
    make<Comparer>,          make<WeightsObserver>,      make<FeatureProber>,       make<ActivationObserver>,
    make<AugmentedObserver>, make<TypedTextObserver>,    make<HeldOutTextObserver>, make<ComparisonRehearsal>,
};

}  // namespace

std::vector<std::unique_ptr<Observer>> make_observers() {
  std::vector<std::unique_ptr<Observer>> observers;
  for (const auto kind : kKinds) observers.push_back(kind());
  return observers;
}

}  // namespace warpscope::training
