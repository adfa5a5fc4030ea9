#include "gpu/messages/kept_view.h"

#include <string>
#include <vector>

#include "gpu/files/checksum.h"
#include "gpu/messages/channel_activations.h"
#include "gpu/messages/distributions.h"
#include "gpu/messages/evaluation.h"
#include "gpu/messages/inspection.h"
#include "gpu/messages/latents.h"
#include "gpu/messages/step_calls.h"
#include "gpu/messages/text_attributions.h"
#include "gpu/models/model_file.h"

namespace warpscope::training {
namespace {

template <class T>
std::size_t list_bytes(const std::vector<T>& values) {
  return values.size() * sizeof(T);
}

std::size_t taken_by(const CallTimes& times) {
  std::size_t bytes = list_bytes(times.timings);
  for (const OpTiming& one : times.timings)
    bytes += one.layer.size() + one.variant.size() + one.previous_variant.size() + one.reason.size() +
             list_bytes(one.covers);
  return bytes;
}

std::size_t taken_by(const Inspection& inspection) {
  std::size_t bytes = list_bytes(inspection.parameters) + list_bytes(inspection.gradients);
  for (const LayerOutput& output : inspection.outputs) bytes += list_bytes(output.values);
  return bytes;
}

std::size_t taken_by(const ChannelActivations& answers) {
  return list_bytes(answers.means) + list_bytes(answers.maxima);
}

std::size_t taken_by(const LatentMap& map) {
  return list_bytes(map.values) + list_bytes(map.mean) + list_bytes(map.components) + list_bytes(map.scores) +
         list_bytes(map.sigmas) + list_bytes(map.shares);
}

std::size_t taken_by(const TextAttributions& all) {
  std::size_t bytes = 0;
  for (const TextAttribution& one : all.texts)
    bytes += one.text.size() + list_bytes(one.scores) + list_bytes(one.shares) + list_bytes(one.known);
  return bytes;
}

std::size_t taken_by(const Evaluation& evaluation) {
  return list_bytes(evaluation.image_losses) + list_bytes(evaluation.predicted) +
         list_bytes(evaluation.confusion) + list_bytes(evaluation.positions);
}

std::size_t taken_by(const SeenDistribution& seen) {
  return seen.moment.bytes();
}

}  // namespace

ViewKey key_of(const KeptView::Seen& seen) {
  const auto kind = static_cast<ViewKind>(seen.index());
  if (const auto* const one = std::get_if<std::shared_ptr<const Inspection>>(&seen))
    return {kind, (*one)->image};
  if (const auto* const one = std::get_if<std::shared_ptr<const ChannelActivations>>(&seen))
    return {kind, static_cast<std::int64_t>((*one)->output)};
  return {kind, 0};
}

std::uint64_t step_of(const KeptView::Seen& seen) {
  if (const auto* const one = std::get_if<std::shared_ptr<const SeenDistribution>>(&seen))
    return (*one)->moment.step;
  return std::visit(
      [](const auto& one) -> std::uint64_t {
        if constexpr (requires { one->step; }) return one->step;
        return 0;
      },
      seen);
}

std::size_t bytes_of(const KeptView::Seen& seen) {
  return std::visit([](const auto& one) { return taken_by(*one); }, seen);
}

std::shared_ptr<const LatentMap> places_of(const LatentMap& map) {
  auto places = std::make_shared<LatentMap>();
  places->step = map.step;
  places->generation = map.generation;
  places->number = map.number;
  places->precision = map.precision;
  places->latent = map.latent;
  places->count = map.count;
  places->rank = map.rank;
  places->scores = map.scores;
  places->sigmas = map.sigmas;
  places->shares = map.shares;
  return places;
}

std::uint64_t number_of(const models::Model& model) {
  return files::checksum_of(models::text_of(model));
}

}  // namespace warpscope::training
