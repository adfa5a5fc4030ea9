#pragma once
// What views have shown at earlier steps, as a run records it and tells it again.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

namespace warpscope::models {
struct Model;
}

namespace warpscope::training {

struct CallTimes;
struct ChannelActivations;
struct Evaluation;
struct Inspection;
struct LatentMap;
struct SeenDistribution;
struct TextAttributions;

/// What is kept, in the order of KeptView::Seen.
enum class ViewKind : std::uint8_t {
  activations,
  answers,
  latents,
  texts,
  predictions,
  times,
  distributions
};

/// Activations have that of their image, answers that of their layer; else it is 0.
using ViewKey = std::pair<ViewKind, std::int64_t>;

/// What one kind of view showed after a step.
struct KeptView {
  using Seen = std::variant<std::shared_ptr<const Inspection>, std::shared_ptr<const ChannelActivations>,
                            std::shared_ptr<const LatentMap>, std::shared_ptr<const TextAttributions>,
                            std::shared_ptr<const Evaluation>, std::shared_ptr<const CallTimes>,
                            std::shared_ptr<const SeenDistribution>>;

  std::uint64_t generation = 0;  ///< Snapshot::generation
  std::uint64_t network = 0;     ///< number_of() what was trained
  Seen seen;                     ///< never nullptr
};

ViewKey key_of(const KeptView::Seen& seen);
std::uint64_t step_of(const KeptView::Seen& seen);
/// What it takes in memory, about.
std::size_t bytes_of(const KeptView::Seen& seen);

/// Without what only the newest map can be asked for: a place on the plane takes some bytes, the latent behind it up to
/// 32 KiB.
std::shared_ptr<const LatentMap> places_of(const LatentMap& map);

/// Tells networks apart, also in files: those of another number have other layers, or other names for them.
std::uint64_t number_of(const models::Model& model);

}  // namespace warpscope::training
