#include "gpu/messages/distributions.h"

#include <cmath>

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

/// Steps of different places are at least `ratio_` apart, or 1.
double DistributionHistory::place(std::uint64_t step) const {
  const std::uint64_t since = step - moments_.front()->step;
  return std::floor(std::log(static_cast<double>(since) + 1) / std::log(ratio_));
}

void DistributionHistory::add(std::uint64_t generation, std::shared_ptr<const DistributionMoment> moment) {
  if (generation != generation_) moments_.clear();
  generation_ = generation;
  std::erase_if(moments_, [&](const auto& one) { return one->step >= moment->step; });
  if (moments_.empty()) ratio_ = kFirstRatio;
  // The newest of before stays if it is the first of its place.
  const std::size_t count = moments_.size();
  if (count > 1 && place(moments_[count - 1]->step) <= place(moments_[count - 2]->step)) moments_.pop_back();
  moments_.push_back(std::move(moment));
  while (moments_.size() > 2 && moments_.size() * moments_.back()->bytes() > most_bytes_) thin();
}

/// Half as many places; of each the first stays, and the newest of all.
void DistributionHistory::thin() {
  ratio_ *= ratio_;
  std::vector<std::shared_ptr<const DistributionMoment>> kept;
  for (const auto& one : moments_) {
    const bool newest = one == moments_.back();
    if (newest || kept.empty() || place(one->step) > place(kept.back()->step)) kept.push_back(one);
  }
  moments_ = std::move(kept);
}

}  // namespace warpscope::training
