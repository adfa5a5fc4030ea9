#include "gpu/profiling/bench.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/ops/cost.h"
#include "gpu/ops/launch.h"
#include "gpu/profiling/bench_operands.h"
#include "gpu/profiling/cache_size.h"
#include "gpu/profiling/launch_summary.h"
#include "gpu/profiling/ranking.h"
#include "gpu/profiling/samples.h"

namespace warpscope::profiling {
namespace {

using core::Precision;
using ops::Variant;

std::vector<Precision> wanted_precisions(const BenchOptions& options) {
  if (!options.precisions.empty()) return options.precisions;
  const auto all = core::selectable_precisions();
  return {all.begin(), all.end()};
}

std::vector<const Variant*> wanted_variants(const BenchCase& what, const ops::Context& context,
                                            const BenchOptions& options) {
  std::vector<const Variant*> wanted = ops::variants_of(*context.variants, what.op, context.device->kind());
  std::erase_if(wanted, [&](const Variant* v) {
    const std::vector<ops::OpSet> sets = ops::coverings(*v);
    return v->name.find(options.only) == std::string::npos ||
           std::find(sets.begin(), sets.end(), what.shape.covered) == sets.end();
  });
  return wanted;
}

std::string text_of(const BenchRow& row) {
  return fmt::format("{} {} {}{}{}", ops::to_string(row.what.op), row.variant, core::to_string(row.precision),
                     row.what.layer.empty() ? "" : ", ", row.what.layer);
}

/// Everything that timing the variants of a case shares.
class Bench {
 public:
  Bench(const ops::Context& context, const Peaks& peaks, const BenchOptions& options)
      : context_(context), device_(context.device), peaks_(peaks), options_(options) {
    device_->make_current();
    stream_ = device_->make_stream();
    cache_ = core::Buffer(device_, 2 * cache_bytes(device_->info()));
    stream_->fill(cache_.data(), 0, cache_.bytes());
  }

  /// The row of a variant before it is timed, with the reason if it cannot be.
  BenchRow row_of(const BenchCase& what, Precision precision, const Variant& variant) const {
    BenchRow row;
    row.what = what;
    row.precision = precision;
    row.variant = variant.name;
    row.library = variant.library;
    row.skipped = unavailable_reason(variant, device_->info(), precision, &what.shape);
    const ops::Work work = ops::contract(what.op).work;
    row.flops = ops::formula_flops(variant, what.shape).of(work);
    row.least_flops = ops::fewest_flops(variant, what.shape).of(work);
    row.bytes = ops::minimum_bytes(variant, what.shape, precision);
    row.floor = 1e6 * floor_seconds(peaks_, variant, what.shape, precision);
    return row;
  }

  /// False if `go_on` stopped it.
  bool time(const Variant& variant, const BenchOperands& operands, const std::function<bool()>& go_on,
            BenchRow& row) {
    row.workspace = workspace_bytes(variant, row.what.shape, row.precision);
    const core::Buffer workspace(device_, row.workspace);
    ops::OpCall call{&variant, &context_, row.what.shape, row.precision};
    const auto prepared = ops::prepare(call);
    call.operands = operands.pointers();
    call.workspace = workspace.data();
    call.prepared = prepared.get();
    call.stream = stream_.get();
    const auto times = time_samples(
        *device_, *stream_, {options_.samples, options_.seconds, go_on}, [&] { flush(); },
        [&] { ops::launch(call); });
    if (times.empty()) return false;
    const Spread spread = spread_of(times);
    row.samples = spread.samples;
    row.median = spread.median;
    row.p10 = spread.p10;
    row.p90 = spread.p90;
#if WARPSCOPE_HAVE_CUDA
    if (device_->kind() == core::DeviceKind::cuda) {
      const LaunchSummary summary = summarize_launches(*device_, *stream_, [&] { ops::launch(call); });
      row.launches = summary.launches;
      row.resources = summary.resources;
    }
#endif
    return true;
  }

  core::Stream& stream() {
    return *stream_;
  }

 private:
  /// A GPU writes it, and meanwhile the host gets ahead: what it takes to launch is not measured. A CPU
  /// touches each line of it by itself, since a fill of that size goes around the caches.
  void flush() {
    if (device_->kind() == core::DeviceKind::cuda) {
      stream_->fill(cache_.data(), 0x5A, cache_.bytes());
      return;
    }
    volatile std::uint8_t* const lines = cache_.as<std::uint8_t>();
    for (std::size_t i = 0; i < cache_.bytes(); i += 64) lines[i] = static_cast<std::uint8_t>(lines[i] + 1);
  }

  ops::Context context_;
  std::shared_ptr<core::Device> device_;
  const Peaks& peaks_;
  const BenchOptions& options_;
  std::unique_ptr<core::Stream> stream_;
  core::Buffer cache_;
};

}  // namespace

std::vector<BenchRow> bench(const ops::Context& context, const std::vector<BenchCase>& cases,
                            const Peaks& peaks, const BenchOptions& options, const Progress& progress,
                            const RowsSink& sink) {
  const auto precisions = wanted_precisions(options);
  int total = 0;
  for (const BenchCase& what : cases) {
    total += static_cast<int>(wanted_variants(what, context, options).size() * precisions.size());
  }
  Bench timing(context, peaks, options);
  std::vector<BenchRow> done;
  int rows = 0;  // of variants
  bool cancelled = false;
  /// All variants of one case and precision.
  const auto time_group = [&](const BenchCase& what, Precision precision) {
    std::vector<BenchRow> group;
    std::optional<BenchOperands> operands;
    for (const Variant* variant : wanted_variants(what, context, options)) {
      BenchRow row = timing.row_of(what, precision, *variant);
      const auto go_on = [&] { return !progress || progress(rows, total, text_of(row)); };
      cancelled = !go_on();
      if (cancelled) break;
      try {
        if (row.skipped.empty() && !(operands && operands->fit(*variant))) {
          operands.reset();  // before there are others: not both need fit
          operands.emplace(context.device, timing.stream(), *variant, what.shape, precision);
        }
        cancelled = row.skipped.empty() && !timing.time(*variant, *operands, go_on, row);
      } catch (const core::OutOfMemory& error) {
        row.skipped = error.what();
      }
      if (cancelled) break;
      group.push_back(std::move(row));
      ++rows;
    }
    if (const auto sum = sum_of_single_ops(done, group, *context.variants)) group.push_back(*sum);
    std::vector<BenchRow*> pointers;
    for (BenchRow& row : group) pointers.push_back(&row);
    rank(pointers);
    if (sink && !group.empty()) sink(group);
    std::move(group.begin(), group.end(), std::back_inserter(done));
  };
  std::vector<BenchCase> ordered = cases;  // single ops first: the others are held against them
  std::stable_partition(ordered.begin(), ordered.end(),
                        [](const BenchCase& what) { return what.shape.covered.empty(); });
  for (const BenchCase& what : ordered) {
    for (const Precision precision : precisions) {
      if (!cancelled) time_group(what, precision);
    }
  }
  std::stable_sort(done.begin(), done.end(),
                   [](const BenchRow& a, const BenchRow& b) { return a.what.op < b.what.op; });
  return done;
}

}  // namespace warpscope::profiling
