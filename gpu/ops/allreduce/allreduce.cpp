// gradients.allreduce: what the ranks of a training found in their parts of a step becomes what one found in all of it:
//
//   x = sum over ranks r of weight_r x_r,   weight_r = images of rank r / images of the step
//
// for each gradient, metric and running statistic, by a tree over the ranks (ranks::sum_over_ranks). All ranks get the
// same bits, so they go on with the same weights. The ranks and the weight are those of OpCall::context; without any
// there is one rank, and all stays as it is.
//
// OpShape: count = number of parameters, in_channels = running statistics, linked, peers; batch = ranks, where peers.

#include <array>

#include "gpu/ops/sizes.h"
#include "gpu/ops/variant_list.h"

namespace warpscope::ops::allreduce {
namespace {

double two_each(const OpShape& s) {
  return 2.0 * static_cast<double>(s.count + s.in_channels);
}
/// A product and a sum for each level of a tree of 1,024 ranks.
std::int64_t levels(const OpShape&) {
  return 11;
}

constexpr std::array kGradients{Operand{Name::gradients, Access::update, Role::gradient, sizes::count},
                                Operand{Name::metrics, Access::update, Role::scalar, sizes::step_metrics},
                                Operand{Name::running, Access::update, Role::parameter, sizes::in_channels}};

}  // namespace

OpContract gradients_contract() {
  return {.name = "gradients.allreduce",
          .summary = "mean gradient, loss and statistics over all ranks",
          .operands = kGradients,
          .flops = two_each,
          .terms = levels,
          .describe = sizes::describe_parameters,
          .parameters = {Parameter::linked, Parameter::peers},
          .scope = Scope::parameters,
          .adds_over_ranks = true,
          .in_pieces = {Name::gradients}};
}

WARPSCOPE_VARIANTS(reference_gradients(),
                   loops_gradients()
                       WARPSCOPE_IF_CUDA(, host_mpi_gradients(), nccl_gradients(), nccl_plain_gradients(),
                                         p2p_two_shot_gradients(), p2p_one_shot_gradients()))

}  // namespace warpscope::ops::allreduce
