// The Newton solver's steps on CUDA: the functions of newton_rows.h and newton_state.h, a block of threads for each
// block of rows, group, or piece of memory.

#include <algorithm>

#include "gpu/classifiers/linear/newton_rows.h"
#include "gpu/classifiers/linear/newton_state.h"
#include "gpu/classifiers/linear/products_cuda.h"
#include "gpu/classifiers/linear/quasi_newton.h"
#include "gpu/core/cuda.h"
#include "gpu/ops/block_sum.cuh"

namespace warpscope::classifiers::linear {
namespace {

constexpr int kThreads = 256;
constexpr int kGroupThreads = 1024;

/// The threads of this block.
struct Block {
  __device__ static int rank() { return static_cast<int>(threadIdx.x); }
  __device__ static int size() { return static_cast<int>(blockDim.x); }
  __device__ static void wait() { __syncthreads(); }
  template <int N>
  __device__ static void sum(double (&values)[N]) {
    ops::block_sums(values);
  }
};

__global__ void __launch_bounds__(kThreads) evaluate_rows(NewtonState state) {
  const int block = static_cast<int>(blockIdx.x);
  if (state.loss.kind == LossKind::softmax) return evaluate_softmax(Block{}, state, block);
  evaluate_margin(Block{}, state, block, static_cast<int>(blockIdx.y));
}

__global__ void __launch_bounds__(kThreads) search_rows(NewtonState state) {
  const int block = static_cast<int>(blockIdx.x);
  if (state.loss.kind == LossKind::softmax) return search_softmax(Block{}, state, block);
  search_margin(Block{}, state, block, static_cast<int>(blockIdx.y));
}

__global__ void __launch_bounds__(kThreads) probe_rows(NewtonState state) {
  probe_margin(Block{}, state, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y));
}

/// Calls one of the functions for single rows.
template <void (*Row)(const NewtonState&, std::int64_t)>
__global__ void __launch_bounds__(kThreads) each_row_of(NewtonState state) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (row < state.rows) Row(state, row);
}

/// Calls one of the functions for groups.
template <void (*Group)(const Block&, const NewtonState&, int)>
__global__ void __launch_bounds__(kGroupThreads) each_group_of(NewtonState state) {
  Group(Block{}, state, static_cast<int>(blockIdx.x));
}

class CudaSteps final : public Steps {
 public:
  CudaSteps(const Place& place, const NewtonState& state)
      : place_(place),
        state_(state),
        features_{state.features, state.rows, state.columns},
        plan_(plan_products(place, features_, state.problems)),
        partial_(place.device, plan_.bytes),
        compact_(place, features_, state.sum, state.squares),
        scaled_(place.device, compact_.empty() ? 0 : sizeof(float) * state.problems * state.width()),
        stream_(core::cuda_stream(*place.stream)) {}

  void run(Step step) override {
    switch (step) {
      case Step::project:
        return multiply(state_.direction, state_.moves);
      case Step::multiply:
        return multiply_operand();
      case Step::collect:
        return sum(state_.slopes);
      case Step::gather:
        return gather();
      case Step::evaluate:
        evaluate_rows<<<blocks(), kThreads, 0, stream_>>>(state_);
        return core::check_launch("newton evaluate");
      case Step::search:
        search_rows<<<blocks(), kThreads, 0, stream_>>>(state_);
        return core::check_launch("newton search");
      case Step::curve:
        return rows<curve_row>("newton curve");
      case Step::shift:
        return rows<shift_row>("newton shift");
      case Step::remember:
        return rows<remember_row>("newton remember");
      case Step::begin:
        return groups<begin<Block>>("newton begin");
      case Step::finish:
        return groups<finish<Block>>("newton finish");
      case Step::advance:
        return groups<advance<Block>>("newton advance");
      case Step::move:
        return groups<move<Block>>("newton move");
      case Step::follow:
        return groups<follow<Block>>("quasi-newton follow");
      case Step::probe:
        probe_rows<<<blocks(), kThreads, 0, stream_>>>(state_);
        return core::check_launch("quasi-newton probe");
      case Step::narrow:
        return groups<narrow<Block>>("quasi-newton narrow");
      case Step::take:
        return groups<take<Block>>("quasi-newton take");
    }
  }

 private:
  dim3 blocks() const {
    return {static_cast<unsigned>(state_.row_blocks),
            state_.loss.kind == LossKind::softmax ? 1u : static_cast<unsigned>(state_.problems)};
  }
  template <class Number>
  void multiply(const Number* weights, Number* scores) {
    multiply_rows_cuda(plan_, features_, weights, state_.problems, scores, partial_.data(),
                       place_.device->info().multiprocessors, stream_);
  }
  void multiply_operand() {
    if (compact_.empty()) return multiply(state_.operand, state_.product);
    scale_weights(compact_, state_.columns, state_.problems, state_.operand, scaled_.as<float>(), stream_);
    multiply_compact_rows(plan_, features_, compact_, scaled_.as<float>(), state_.problems, state_.product,
                          partial_.data(), place_.device->info().multiprocessors, stream_);
  }
  void gather() {
    if (compact_.empty()) return sum(state_.changes);
    sum_compact_rows(plan_, features_, compact_, state_.changes, state_.problems, state_.sum, partial_.data(),
                     stream_);
  }
  template <class Number>
  void sum(const Number* factors) {
    sum_rows_cuda(plan_, features_, factors, state_.problems, state_.sum, partial_.data(), stream_);
  }
  template <void (*Row)(const NewtonState&, std::int64_t)>
  void rows(const char* name) {
    each_row_of<Row>
        <<<static_cast<unsigned>((state_.rows + kThreads - 1) / kThreads), kThreads, 0, stream_>>>(state_);
    core::check_launch(name);
  }
  template <void (*Group)(const Block&, const NewtonState&, int)>
  void groups(const char* name) {
    each_group_of<Group><<<static_cast<unsigned>(state_.groups), kGroupThreads, 0, stream_>>>(state_);
    core::check_launch(name);
  }

  Place place_;
  NewtonState state_;
  FeatureMatrix features_;
  ProductPlan plan_;
  core::Buffer partial_;
  CompactFeatures compact_;
  core::Buffer scaled_;  ///< the operand as compact features take it
  cudaStream_t stream_;
};

}  // namespace

std::unique_ptr<Steps> make_steps_cuda(const Place& place, const NewtonState& state) {
  return std::make_unique<CudaSteps>(place, state);
}

void multiply_rows_cuda(const Place& place, const FeatureMatrix& features, const std::vector<double>& weights,
                        int problems, std::vector<double>& scores) {
  const ProductPlan plan = plan_products(place, features, problems);
  const core::Buffer operand(place.device, weights.size() * sizeof(double));
  const core::Buffer result(place.device, scores.size() * sizeof(double));
  const core::Buffer partial(place.device, plan.bytes);
  place.stream->copy(operand.data(), weights.data(), operand.bytes());
  multiply_rows_cuda(plan, features, operand.as<const double>(), problems, result.as<double>(),
                     partial.data(), place.device->info().multiprocessors, core::cuda_stream(*place.stream));
  place.stream->copy(scores.data(), result.data(), result.bytes());
  place.stream->synchronize();
}

}  // namespace warpscope::classifiers::linear
