#pragma once
// What a window wants to see of the inside of a training, and what was last seen: a field a kind.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/core/not_sent.h"
#include "gpu/messages/augmented_images.h"
#include "gpu/messages/channel_activations.h"
#include "gpu/messages/comparison.h"
#include "gpu/messages/distributions.h"
#include "gpu/messages/evaluation.h"
#include "gpu/messages/inspection.h"
#include "gpu/messages/latents.h"
#include "gpu/messages/text_attributions.h"
#include "gpu/plan/selection.h"

namespace warpscope::training {

/// What the latents were worth to a small classifier after some step.
struct FeatureProbe {
  std::uint64_t step = 0;
  std::uint64_t generation = 0;  ///< Snapshot::generation
  int learned_from = 0;          ///< held-out images
  int judged_on = 0;             ///< others
  double accuracy = 0;           ///< share of these that got their class
  std::string problem;           ///< why there is no accuracy, in a sentence; "" if there is
};

/// The master weights after a step.
struct Weights {
  std::uint64_t number = 0;  ///< CopyWeights::number
  std::uint64_t step = 0;
  std::uint64_t generation = 0;   ///< Snapshot::generation
  plan::Selection selection;      ///< that the training ran with
  std::vector<float> parameters;  ///< in models::ParameterLayout
};

/// What is asked for as long as nothing else is. Nothing is seen, and nothing costs time, unless it is asked
/// for.
struct ObservationRequest {
  std::optional<std::int64_t> inspected_image;  ///< of the test images: Observations::inspection
  /// The layer whose parameters come with it; counts in Inspection::outputs, those without parameters have none.
  std::size_t inspected_parameters = 0;
  bool distributions = false;                   ///< Observations::distributions
  LatentRequest latents;                        ///< Observations::latents and latent_pictures
  std::optional<ComparisonRequest> comparison;  ///< Observations::comparison
  /// What comparison may become next: its networks, any number, are built once ahead, so that it comes sooner.
  std::optional<ComparisonRequest> likely_comparison;
  std::uint64_t weights = 0;                  ///< CopyWeights::number, whatever a window writes here
  bool feature_probe = false;                 ///< Observations::probe
  std::optional<std::size_t> activations_of;  ///< counts in Inspection::outputs: Observations::activations
  bool augmented = false;                     ///< Observations::augmented
  /// Pictures and predictions of the checkpoint of a run that is only looked at; a training shows its own unasked.
  bool results = false;
  std::optional<TypedText> typed_text;         ///< Observations::typed_text
  std::optional<HeldOutTexts> held_out_texts;  ///< Observations::held_out_texts

  bool operator==(const ObservationRequest&) const = default;
};

/// What there was to see after a past step, which was computed again (LookAside). nullptr where nothing was asked for,
/// or has not arrived yet.
struct AsideSeen {
  std::uint64_t step = 0;
  std::uint64_t generation = 0;  ///< Snapshot::generation of the training that it is a step of
  std::shared_ptr<const Inspection> inspection;
  std::shared_ptr<const Distributions> distributions;  ///< the moment of that step
  std::shared_ptr<const LatentMap> latents;            ///< as places_of()
  std::shared_ptr<const ChannelActivations> activations;
  std::shared_ptr<const TextAttributions> typed_text;  ///< one text
  std::shared_ptr<const TextAttributions> held_out_texts;
  std::shared_ptr<const Evaluation> evaluation;

  bool operator==(const AsideSeen&) const = default;
};

/// nullptr where nothing was asked for, or has not arrived yet.
struct Observations {
  std::uint64_t network = 0;  ///< Snapshot::network_number: all that is seen is of that network
  std::shared_ptr<const Inspection> inspection;
  std::shared_ptr<const Distributions> distributions;
  std::shared_ptr<const LatentMap> latents;
  std::shared_ptr<const LatentPictures> latent_pictures;
  std::shared_ptr<const Comparison> comparison;
  core::NotSent<std::shared_ptr<const Weights>> weights;  ///< of CopyWeights
  std::shared_ptr<const FeatureProbe> probe;
  std::shared_ptr<const ChannelActivations> activations;
  std::shared_ptr<const AugmentedImages> augmented;
  std::shared_ptr<const TextAttributions> typed_text;  ///< one text
  std::shared_ptr<const TextAttributions> held_out_texts;
  std::shared_ptr<const AsideSeen> aside;  ///< of LookAside
  std::uint64_t images_arrived = 0;        ///< of those that DataView::image() could not give at once
  /// The part of the device's time that all of these and the pictures took, over the last second or so.
  double time_share = 0;

  bool operator==(const Observations&) const = default;
};

/// `seen` as far as it is of that network. Snapshot and observations are taken one after the other, and the network may
/// have changed in between.
inline Observations seen_of_network(Observations seen, std::uint64_t network_number) {
  if (seen.network != network_number) seen = Observations();
  seen.network = network_number;
  return seen;
}

}  // namespace warpscope::training
