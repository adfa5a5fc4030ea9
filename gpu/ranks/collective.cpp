#include "gpu/ranks/collective.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"

namespace warpscope::ranks {
namespace {

struct Row {
  Joint joint;
  std::string_view op;    ///< "" where no operation of the step does it
  std::string_view name;  ///< what stands before the way
};

constexpr std::array kJoint{
    Row{Joint::gradients, "gradients.allreduce", "all-reduce"},
    Row{Joint::moments, "batch_norm.allreduce_moments", "all-reduce of batch norm moments"},
    Row{Joint::moments_gradient, "batch_norm.allreduce_sums", "all-reduce of batch norm gradients"},
    Row{Joint::evaluation, "", "the evaluation over"},
    Row{Joint::figures, "", "the figures of the ranks over"},
    Row{Joint::weights, "", "the broadcast of weights over"},
};

}  // namespace

std::string told(const Collective& collective, std::uint64_t step, bool at_most) {
  const Row& row = *std::ranges::find(kJoint, collective.joint, &Row::joint);
  return fmt::format("{} {}, {} {}", row.name, collective.way, at_most ? "a step up to" : "step",
                     files::grouped(step));
}

Joint collective_of(std::string_view op) {
  const auto* const row = std::ranges::find(kJoint, op, &Row::op);
  if (op.empty() || row == kJoint.end())
    throw core::Error(fmt::format("{} is not known to add over ranks", op));
  return row->joint;
}

}  // namespace warpscope::ranks
