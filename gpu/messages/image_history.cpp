#include "gpu/messages/image_history.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace warpscope::training {
namespace {

/// The nearest binary16, ties to even; what is too large becomes an infinity, NaN stays NaN. Without branches, so that
/// a loop becomes vector code: the trainer's thread waits for it, and the GPU for the trainer.
std::uint16_t half_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  // Normal numbers: other bias of the exponent, 13 bits of the mantissa rounded off.
  const std::uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Below 2^-14: beside 0.5 the last bit of FP32 is that of a subnormal binary16, 2^-24.
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) -
                                  std::bit_cast<std::uint32_t>(0.5f);
  std::uint32_t half = magnitude < (113u << 23) ? subnormal : normal;
  half = magnitude >= 0x477ff000u ? 0x7c00u : half;  // 65520 and more
  half = magnitude > 0x7f800000u ? 0x7e00u : half;
  return static_cast<std::uint16_t>(sign | half);
}

std::vector<std::uint16_t> narrow(const std::vector<float>& values) {
  std::vector<std::uint16_t> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) result[i] = half_of(values[i]);
  return result;
}

/// Exact. A binary16 whose exponent and mantissa stand where those of FP32 do is 2^112 times too small.
float value_of(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16, magnitude = (half & 0x7fffu) << 13;
  const auto number = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  const bool finite = magnitude < (31u << 23);
  return std::bit_cast<float>(sign | (finite ? number : magnitude | 0x7f800000u));
}

std::vector<float> widen(const std::vector<std::uint16_t>& values) {
  std::vector<float> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) result[i] = value_of(values[i]);
  return result;
}

}  // namespace

bool ImageHistory::wants(std::uint64_t step) const {
  const std::lock_guard lock(mutex_);
  return moments_.wants(step);
}

void ImageHistory::add(const ShownImages& images) {
  auto values = std::make_shared<const std::vector<std::uint16_t>>(narrow(images.reconstruction));
  const std::lock_guard lock(mutex_);
  Moment moment{version_ + 1, std::move(values), images.errors};
  const bool same = images.shape == shape_ && images.generation == generation_;
  if (!same || moments_.entries().empty()) {
    moments_.clear();
    shape_ = images.shape;
    generation_ = images.generation;
    original_ = images.original;
  }
  moments_.add(images.step, shape_.elements() * sizeof(std::uint16_t), std::move(moment));
  while (moments_.bytes() > most_bytes_ && moments_.thin()) continue;
  ++version_;
}

void ImageHistory::go_on(std::uint64_t from, std::uint64_t generation, std::uint64_t step) {
  const std::lock_guard lock(mutex_);
  if (generation_ != from || moments_.entries().empty()) return;
  moments_.forget_after(step);
  generation_ = generation;
  ++version_;
}

std::vector<std::uint64_t> ImageHistory::steps() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> result;
  for (const auto& one : moments_.entries()) result.push_back(one.step);
  return result;
}

std::shared_ptr<const ShownImages> ImageHistory::at(std::uint64_t step) const {
  std::unique_lock lock(mutex_);
  const auto* const found = moments_.nearest(step);
  if (found == nullptr) return nullptr;
  const std::uint64_t number = found->kept.number;
  const auto known = std::find_if(widened_.begin(), widened_.end(),
                                  [number](const Widened& one) { return one.number == number; });
  if (known != widened_.end()) {
    std::rotate(known, known + 1, widened_.end());
    return widened_.back().images;
  }
  const auto values = found->kept.values;
  auto images = std::make_shared<ShownImages>(
      ShownImages{shape_, found->step, generation_, original_, {}, found->kept.errors});
  lock.unlock();  // the trainer, which adds, need not wait for the rest
  images->reconstruction = widen(*values);
  lock.lock();
  if (widened_.size() == kWidened) widened_.erase(widened_.begin());
  widened_.push_back({number, images});
  return images;
}

std::vector<ImageHistory::Errors> ImageHistory::errors() const {
  const std::lock_guard lock(mutex_);
  std::vector<Errors> result;
  for (const auto& one : moments_.entries()) result.push_back({one.step, one.kept.errors});
  return result;
}

std::uint64_t ImageHistory::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

}  // namespace warpscope::training
