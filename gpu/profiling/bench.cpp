#include "gpu/profiling/bench.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/device.h"
#include "gpu/core/error.h"
#include "gpu/ops/cost.h"
#include "gpu/ops/launch.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"
#include "gpu/profiling/cache_size.h"
#include "gpu/profiling/launch_summary.h"
#include "gpu/profiling/samples.h"
#include "gpu/verify/host_values.h"

namespace warpscope::profiling {
namespace {

using core::Precision;
using ops::CallOperand;
using ops::Name;
using ops::OpShape;
using ops::Role;
using ops::Variant;
using verify::Bytes;

constexpr std::size_t kBlock = std::size_t{1} << 18;  // elements

Bytes normal_numbers(std::size_t elements, core::ElementType type, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<double> values(std::min(elements, kBlock));
  for (double& value : values) value = normal(random);
  return verify::encode(values, type);
}

/// Pixels of the window of the pooling that the call is or covers.
unsigned pixels_of_window(const ops::Variant& variant, const OpShape& shape) {
  for (const ops::CoveredOp& covered : covered_ops(variant, shape)) {
    const auto operands = ops::contract(covered.op).operands;
    if (std::ranges::find(operands, Name::argmax, &ops::Operand::name) == operands.end()) continue;
    return static_cast<unsigned>(covered.shape.kernel_height * covered.shape.kernel_width);
  }
  return 1;
}

/// How many values a byte of the operand can have.
unsigned values_of_a_byte(const CallOperand& operand, const ops::Variant& variant, const OpShape& shape) {
  if (operand.name == Name::argmax && operand.format == nullptr) return pixels_of_window(variant, shape);
  if (operand.name == Name::labels) return static_cast<unsigned>(std::clamp(shape.in_channels, 1, 256));
  return 256;
}

Bytes random_bytes(std::size_t elements, unsigned values, std::mt19937_64& random) {
  Bytes bytes(std::min(elements, kBlock));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % values);
  return bytes;
}

Bytes control_block(const OpShape& shape) {
  ops::step::StepControl control;
  control.epoch_size = static_cast<std::uint32_t>(shape.batch) * 1000u;
  control.learning_rate = 1e-6f;
  control.first_decay = 0.9f;
  control.second_decay = 0.999f;
  control.epsilon = 1e-8f;
  return verify::bytes_of(std::span(&control, 1));
}

/// The beginning of an operand; the rest repeats it.
Bytes beginning(const CallOperand& operand, const ops::Variant& variant, const OpShape& shape,
                core::Precision precision, std::mt19937_64& random) {
  const auto elements = static_cast<std::size_t>(operand.elements);
  switch (operand.role) {
    case Role::byte:
      return random_bytes(elements, values_of_a_byte(operand, variant, shape), random);
    case Role::index:
      return verify::random_order(static_cast<std::size_t>(shape.count), random);
    case Role::control:
      return elements == sizeof(ops::step::StepControl) ? control_block(shape) : Bytes(elements);
    default:
      return normal_numbers(elements, element_type(operand.role, precision), random);
  }
}

/// Copies what is there to what is not, twice as much each time.
void repeat(core::Stream& stream, const core::Buffer& buffer, std::size_t filled) {
  auto* const memory = buffer.as<std::byte>();
  while (filled < buffer.bytes()) {
    const std::size_t more = std::min(filled, buffer.bytes() - filled);
    stream.copy(memory + filled, memory, more);
    filled += more;
  }
}

// Device memory for calls of an op, filled with random numbers.

/// The operands of calls of variants with the same operands. Numbers are standard normal: the host makes a
/// block of them for each element type, and the device repeats it until an operand is full, so that large
/// operands cost no time. Image bytes are uniform, the winners of pooling windows and classes too, an order
/// is a permutation, and the control block is that of a training step in which nothing overflows and the
/// weights hardly move.
class BenchOperands {
 public:
  /// Throws core::OutOfMemory.
  BenchOperands(const std::shared_ptr<core::Device>& device, core::Stream& stream,
                const ops::Variant& variant, const ops::OpShape& shape, core::Precision precision)
      : shape_(shape), operands_(ops::operands_of(variant, shape)) {
    std::mt19937_64 random(1);
    for (const CallOperand& operand : operands_) {
      buffers_.emplace_back(device, ops::bytes_of(operand, precision));
      pointers_[operand.name] = buffers_.back().data();
      if (operand.access == ops::Access::write) continue;
      const Bytes first = beginning(operand, variant, shape, precision, random);
      stream.copy(buffers_.back().data(), first.data(), first.size());
      repeat(stream, buffers_.back(), first.size());
      stream.synchronize();  // `first` goes
    }
  }
  /// Whether they are also those of `variant`: the same names in the same formats.
  bool fit(const ops::Variant& variant) const {
    const std::vector<CallOperand> others = ops::operands_of(variant, shape_);
    const auto known = [&](const CallOperand& other) {
      return std::ranges::any_of(operands_, [&](const CallOperand& own) {
        return own.name == other.name && own.format == other.format;
      });
    };
    return others.size() == operands_.size() && std::ranges::all_of(others, known);
  }
  const ops::ByName<void*>& pointers() const { return pointers_; }

 private:
  ops::OpShape shape_;
  std::vector<ops::CallOperand> operands_;
  std::vector<core::Buffer> buffers_;
  ops::ByName<void*> pointers_;
};

std::vector<const Variant*> wanted_variants(const BenchCase& what, const ops::Context& context,
                                            const BenchOptions& options) {
  std::vector<const Variant*> wanted = ops::variants_of(*context.variants, what.op, context.device->kind());
  std::erase_if(wanted, [&](const Variant* v) {
    const std::vector<ops::OpSet> sets = ops::coverings(*v);
    return v->name.find(options.only) == std::string::npos ||
           std::ranges::find(sets, what.shape.covered) == sets.end();
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
    const int flushes = flushes_for(call);
    const auto before = [&] {
      for (int i = 0; i < flushes; ++i) flush();
    };
    const auto times = time_samples(*device_, *stream_, {options_.samples, options_.seconds, go_on}, before,
                                    [&] { ops::launch(call); });
    if (times.empty()) return false;
    const Spread spread = spread_of(times);
    row.samples = spread.samples;
    row.median = spread.median;
    row.p10 = spread.p10;
    row.p90 = spread.p90;
    row.middle = spread.middle;
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
  /// So many that the host, which plans and launches meanwhile, is done before a GPU has written them.
  int flushes_for(const ops::OpCall& call) {
    if (device_->kind() != core::DeviceKind::cuda) return 1;
    ops::launch(call);  // loads code
    stream_->synchronize();
    const auto begin = std::chrono::steady_clock::now();
    ops::launch(call);
    const std::chrono::duration<double> host = std::chrono::steady_clock::now() - begin;
    stream_->synchronize();
    const double flush_seconds = static_cast<double>(cache_.bytes()) / peaks_.bytes;
    constexpr double kSlack = 2.0;
    constexpr double kMost = 100.0;
    return 1 + static_cast<int>(std::min(kMost, kSlack * host.count() / flush_seconds));
  }

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
  const auto precisions = core::or_selectable(options.precisions);
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
  std::ranges::stable_sort(done, [](const BenchRow& a, const BenchRow& b) { return a.what.op < b.what.op; });
  return done;
}

}  // namespace warpscope::profiling
