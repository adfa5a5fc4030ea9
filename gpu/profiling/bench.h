#pragma once
// Times variants of ops, each by itself, on given shapes.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/models/model.h"
#include "gpu/ops/variant.h"
#include "gpu/plan/selection.h"
#include "gpu/profiling/peaks.h"

namespace warpscope::profiling {

/// One op instance to time.
struct BenchCase {
  ops::Op op{};
  std::string layer;  ///< "conv2"; "" for ops of the whole network and for shapes given by hand
  ops::OpShape shape;
};

/// The calls of a training step of `model` on `machine`, each different (op, shape) once, named after its
/// first layer: every op by itself, and what variants cover in one call (OpShape::covered), whichever of them
/// is chosen.
std::vector<BenchCase> cases_of(const models::Model& model, int batch, core::Precision precision,
                                const plan::Machine& machine);

/// The name of rows that sum up single ops (BenchRow::sum).
inline constexpr const char* kSingleOps = "single ops";

/// Registers, shared memory and occupancy of a variant's heaviest kernel (the one with the lowest occupancy).
struct KernelResources {
  int registers = 0;             ///< a thread
  std::size_t shared_bytes = 0;  ///< a block, static and dynamic
  double occupancy = 0;  ///< resident warps over the most that fit, from the CUDA occupancy calculator
};

/// The time of one variant on one case.
struct BenchRow {
  BenchCase what;
  core::Precision precision{};
  std::string variant;
  bool library = false;
  bool sum =
      false;  ///< no variant: what the best variants of the single ops that a call covers take together
  std::string skipped;  ///< why it was not timed ("needs compute capability 9.0, ..."); "" if it was
  int samples = 0;
  double median = 0;          ///< microseconds
  double p10 = 0;             ///< microseconds
  double p90 = 0;             ///< microseconds
  double middle = 0;          ///< microseconds from the first quartile to the third
  int launches = 0;           ///< kernels and memory operations of a call; 0 on a CPU
  double flops = 0;           ///< of a call, by the formulas: ops::formula_flops() of the op's kind of work
  double least_flops = 0;     ///< of the cheapest way known: ops::fewest_flops()
  double bytes = 0;           ///< least bytes of a call
  double floor = 0;           ///< microseconds: floor_seconds()
  std::size_t workspace = 0;  ///< bytes
  KernelResources resources;  ///< zeros on a CPU
  int rank = 0;  ///< 1 is fastest of the case and precision; equal ranks are ties; 0 if not timed

  bool timed() const { return skipped.empty() && samples > 0; }
};

/// Sets the ranks of rows of one case and precision: a row shares the rank of the one before it in order of
/// medians unless its p10 lies above that one's p90.
void rank(std::vector<BenchRow*> rows);

struct BenchOptions {
  std::vector<core::Precision> precisions;  ///< empty: all selectable
  std::string only;                         ///< variants whose name contains this; "" for all
  int samples = 30;                         ///< launches timed of each variant, at most
  double seconds = 0.5;                     ///< of timing for each variant, at most (at least 3 samples)
};

/// Called before each variant and between its samples: how many of how many are done, and what comes
/// ("conv2d.forward mma bf16, conv2"). Returns false to cancel.
using Progress = std::function<bool(int done, int total, const std::string& text)>;

/// Called with the ranked rows of a case and precision as soon as they are there.
using RowsSink = std::function<void(const std::vector<BenchRow>&)>;

/// Times every variant of the device's kind that can cover what a case covers, in every precision on every
/// case. Operands are random; the second-level cache is flushed before each launch, by writing a buffer twice
/// its size, on a GPU for as long as the host takes to launch. Out of memory skips a variant and says so. Beside the
/// variants that cover several ops stands a row BenchRow::sum, where those ops were timed by themselves. Returns what
/// was done until cancelled, by op. Throws core::Error if the device fails.
std::vector<BenchRow> bench(const ops::Context& context, const std::vector<BenchCase>& cases,
                            const Peaks& peaks, const BenchOptions& options, const Progress& progress,
                            const RowsSink& sink = {});

/// What is best in `precision` by `rows`: of each op the variant with the least summed median over its cases,
/// where it was timed on every one of them. A variant that covers other ops is counted less what the best
/// variants of those take by themselves; what several calls compute again is shared out between them.
/// Variants that read or write each other's private formats are chosen together or not at all. `otherwise`
/// keeps its choices for ops that were not timed; others are chosen only where the automatic choice would
/// differ, and not where a chosen variant covers them.
plan::Selection fastest_of(const std::vector<BenchRow>& rows, core::Precision precision,
                           const plan::Machine& machine, plan::Selection otherwise);

/// Beside `group`, the rows of one case that covers several ops: what the best variants of these ops take one
/// after the other by `rows`. Spreads are added as if they came together. Nothing if the case covers only
/// one op, or one was not timed.
std::optional<BenchRow> sum_of_single_ops(const std::vector<BenchRow>& rows,
                                          const std::vector<BenchRow>& group,
                                          const ops::VariantTable& variants);

}  // namespace warpscope::profiling
