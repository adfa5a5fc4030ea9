#pragma once
// Proof of the kernels: every variant in every precision against the double-precision reference on random
// shapes.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/ops/variant.h"

namespace warpscope::verify {

struct VerifyOptions {
  std::uint64_t seed = 1;
  int shapes = 8;      ///< random shapes of each variant and precision, beside the fixed odd ones
  double flops = 2e8;  ///< the most that a random shape costs: the reference runs on the CPU
  std::vector<core::Precision> precisions;  ///< empty: all selectable
  std::vector<ops::Op> ops;                 ///< empty: all
  std::string only;                         ///< variants whose name contains this; "" for all
  bool libraries = true;                    ///< variants that are a library's too
};

/// What was found of one variant in one precision. Two kinds of row are about something else: those with
/// `network` set hold the gradients of a whole small network against the reference, `variant` then naming the
/// selection; and the variant kFiniteDifferences, in fp64, is the reference's own gradient against central
/// differences.
struct VerifyRow {
  bool network = false;
  ops::Op op{};
  std::string variant;
  core::Precision precision{};
  /// Why nothing was checked ("needs compute capability 8.0, ..."); "" if something was.
  std::string skipped;
  /// The largest set of other ops that a call covered: "bias, relu, maxpool2d"; "" if it was only the op.
  std::string covers;
  int sets = 0;     ///< how many sets of ops were checked, of a variant that covers others
  int checked = 0;  ///< calls that agreed: shapes, each with every set of ops
  int refused = 0;  ///< those that the variant declares it does not take
  double worst_error =
      0;  ///< ||out - ref|| / ||ref||, of the shape where it is largest relative to its tolerance
  double tolerance = 0;    ///< there
  std::int64_t terms = 0;  ///< there: the length of the sum that the tolerance follows from
  std::string derivation;  ///< "4u√n + 2v, n = 1152": u is FP32's unit roundoff, v that of the precision
  bool declared_deterministic = true;
  bool same_bits = true;      ///< two runs gave the same bits on every shape
  std::size_t workspace = 0;  ///< largest, bytes
  std::string failure;  ///< "" if all is well; else what is wrong, with op, variant, precision and shape
};

inline constexpr const char* kFiniteDifferences = "finite differences";

/// "conv2d.forward mma bf16", "network gradients naive fp32": what a row is about.
std::string describe(const VerifyRow& row);

/// "mma", "hopper; with upsample2d, bias, relu, maxpool2d (8 sets)": the variant, with the largest set of ops
/// that it covered.
std::string variant_text(const VerifyRow& row);

/// Called before each row: how many of how many are done, and what comes. Returns false to cancel.
using Progress = std::function<bool(int done, int total, const std::string& text)>;

/// Called with each row as soon as it is there.
using RowSink = std::function<void(const VerifyRow&)>;

/// One row for each variant of the device's kind and each of its precisions that is asked for (one row that
/// says why where there is none). A variant that covers other ops is checked with every set of them. Then, if
/// all ops are asked for, the gradients of a whole network for each name that variants have; finite
/// differences stand with their ops. Returns what was done until cancelled.
std::vector<VerifyRow> verify(const ops::Context& context, const VerifyOptions& options,
                              const Progress& progress, const RowSink& sink = {});

}  // namespace warpscope::verify
