#include "gpu/verify/reference_cases.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "gpu/core/error.h"
#include "gpu/core/random.h"

namespace warpscope::verify {

using core::Precision;
using ops::Op;

Precision storage_of(Precision precision) {
  return precision == Precision::tf32 ? Precision::fp32 : precision;
}

ReferenceCases::Key ReferenceCases::key(std::size_t shape, Precision precision,
                                        std::span<const Op> absorbed) {
  return {shape, storage_of(precision), {absorbed.begin(), absorbed.end()}};
}

void ReferenceCases::want(std::size_t shape, Precision precision, std::span<const Op> absorbed) {
  entries_[key(shape, precision, absorbed)];
}

void ReferenceCases::make_one(const Key& key, Entry& entry) const {
  const auto& [shape, precision, absorbed] = key;
  const std::uint64_t seed = core::random_bits(seed_, 1000 * static_cast<std::uint64_t>(op_) + shape);
  try {
    entry.made = std::make_unique<Case>(make_case(op_, shapes_[shape], absorbed, precision, seed));
  } catch (const std::exception& error) {
    entry.error = error.what();
  }
}

void ReferenceCases::make(const std::function<bool()>& go_on) {
  std::vector<std::pair<const Key, Entry>*> missing;
  for (auto& entry : entries_) {
    if (entry.second.made == nullptr && entry.second.error.empty()) missing.push_back(&entry);
  }
  // The costliest first, so that no core is left with one at the end.
  std::stable_sort(missing.begin(), missing.end(), [&](const auto* a, const auto* b) {
    const auto flops = [&](const auto* entry) {
      return ops::contract(op_).flops(shapes_[std::get<0>(entry->first)]);
    };
    return flops(a) > flops(b);
  });
  std::atomic<std::size_t> next{0};
  const auto work = [&](bool caller) {
    for (std::size_t i = next++; i < missing.size(); i = next++) {
      if (caller && !go_on()) {
        next = missing.size();
        return;
      }
      make_one(missing[i]->first, missing[i]->second);
    }
  };
  std::vector<std::jthread> helpers;
  for (unsigned i = 1; i < std::min(std::thread::hardware_concurrency(), 16u); ++i) {
    helpers.emplace_back(work, false);
  }
  work(true);
}

const Case& ReferenceCases::get(std::size_t shape, Precision precision, std::span<const Op> absorbed) {
  const Key wanted = key(shape, precision, absorbed);
  Entry& entry = entries_[wanted];
  if (entry.made == nullptr && entry.error.empty()) make_one(wanted, entry);
  if (entry.made == nullptr) throw core::Error(entry.error);
  return *entry.made;
}

}  // namespace warpscope::verify
