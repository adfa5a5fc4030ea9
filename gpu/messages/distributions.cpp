#include "gpu/messages/distributions.h"

#include <utility>

namespace warpscope::training {

std::string_view name_of(Quantity quantity) {
  constexpr std::array<std::string_view, kQuantities> kNames{"weights", "activations", "gradients",
                                                             "updates"};
  return kNames[static_cast<std::size_t>(quantity)];
}

const statistics::Distribution* DistributionMoment::find(std::size_t layer, Quantity quantity) const {
  const auto found = distributions.find({layer, quantity});
  return found == distributions.end() ? nullptr : &found->second;
}

std::optional<double> DistributionMoment::update_ratio(std::size_t layer) const {
  const statistics::Distribution* const update = find(layer, Quantity::updates);
  const statistics::Distribution* const weights = find(layer, Quantity::weights);
  if (update == nullptr || weights == nullptr || weights->norm() == 0) return std::nullopt;
  return update->norm() / weights->norm();
}

std::size_t DistributionMoment::bytes() const {
  constexpr std::size_t kNode = 64;  // what a map adds to each
  return sizeof(*this) + distributions.size() * (sizeof(statistics::Distribution) + kNode) +
         dead.size() * (sizeof(DeadUnits) + kNode);
}

void DistributionHistory::add(std::uint64_t generation, std::shared_ptr<const DistributionMoment> moment) {
  if (generation != generation_) moments_.clear();
  generation_ = generation;
  const std::uint64_t step = moment->step;
  const std::size_t bytes = moment->bytes();
  moments_.add(step, bytes, std::move(moment));
  while (moments_.bytes() > most_bytes_ && moments_.thin()) continue;
}

std::vector<std::shared_ptr<const DistributionMoment>> DistributionHistory::moments() const {
  std::vector<std::shared_ptr<const DistributionMoment>> result;
  for (const auto& one : moments_.entries()) result.push_back(one.kept);
  return result;
}

}  // namespace warpscope::training
