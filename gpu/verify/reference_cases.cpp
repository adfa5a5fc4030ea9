#include "gpu/verify/reference_cases.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <thread>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/core/parallel.h"
#include "gpu/core/random.h"

namespace warpscope::verify {

using core::Precision;
using ops::OpShape;
using ops::Variant;

Precision storage_of(Precision precision) {
  return precision == Precision::tf32 ? Precision::fp32 : precision;
}

ReferenceCases::Entry& ReferenceCases::entry(const Variant& variant, const OpShape& shape,
                                             Precision precision) {
  const Precision stored = storage_of(precision);
  std::string text =
      fmt::format("{}; {} {} {}", describe(op_, shape), shape.batch, shape.count, variant.far_means);
  ops::visit_parameters(shape, [&](ops::Parameter, auto value, auto) {
    text += fmt::format(" {}", static_cast<double>(value));
  });
  const Key key{text, stored, binding_of(variant, shape)};
  return entries_.try_emplace(key, Entry{variant, shape, stored}).first->second;
}

void ReferenceCases::want(const Variant& variant, const OpShape& shape, Precision precision) {
  entry(variant, shape, precision);
}

namespace {

/// What a case takes at least: all operands, before and after, in double precision.
double bytes_of_case(const Variant& variant, const OpShape& shape) {
  std::int64_t elements = 0;
  for (const ops::CallOperand& operand : operands_of(variant, shape)) elements += operand.elements;
  return 2.0 * static_cast<double>(elements) * sizeof(double);
}

}  // namespace

void ReferenceCases::make_one(Entry& entry) const {
  std::uint64_t seed = seed_;
  for (const char c : describe(op_, entry.shape)) {
    seed = core::random_bits(seed, static_cast<unsigned char>(c));
  }
  try {
    entry.made = std::make_unique<Case>(make_case(entry.variant, entry.shape, entry.precision, seed));
  } catch (const std::bad_alloc&) {
    entry.error = core::need_sentence("the reference", bytes_of_case(entry.variant, entry.shape));
  } catch (const std::exception& error) {
    entry.error = core::sentence_of(error);
  }
}

void ReferenceCases::make(const std::function<bool()>& go_on) {
  std::vector<Entry*> missing;
  for (auto& [key, entry] : entries_) {
    if (entry.made == nullptr && entry.error.empty()) missing.push_back(&entry);
  }
  // The costliest first, so that no core is left with one at the end.
  std::ranges::stable_sort(missing, [&](const Entry* a, const Entry* b) {
    return ops::contract(op_).flops(a->shape) > ops::contract(op_).flops(b->shape);
  });
  std::atomic<bool> stopped{false};
  const std::thread::id caller = std::this_thread::get_id();
  core::parallel_for(static_cast<std::int64_t>(missing.size()), 1, 0, [&](std::int64_t i, std::int64_t) {
    if (!stopped && std::this_thread::get_id() == caller && !go_on()) stopped = true;
    if (stopped) return;
    make_one(*missing[static_cast<std::size_t>(i)]);
  });
}

const Case& ReferenceCases::get(const Variant& variant, const OpShape& shape, Precision precision) {
  Entry& found = entry(variant, shape, precision);
  if (found.made == nullptr && found.error.empty()) make_one(found);
  if (found.made == nullptr) throw core::Error(found.error);
  return *found.made;
}

}  // namespace warpscope::verify
