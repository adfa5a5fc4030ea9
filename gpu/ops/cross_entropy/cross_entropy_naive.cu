// cross_entropy, variant `naive`: the first rung on CUDA. One thread per image walks its logits: once for the
// largest, once for the sum, and in backward once more for the gradient. A second kernel of one block adds
// the images; each thread adds its share, then shuffles add the threads, so the result is the same bits every
// time. The largest exponential, which is 1, and the one of the label stay out of the sums, so that an image
// that is all but certain keeps its digits. Limits: neighbouring threads read logits that lie a row apart,
// and a small batch leaves most of the GPU idle. At most 32 registers (54 on compute capability 7.5), 256
// bytes of shared memory, no spills. Source: cross_entropy.h; block_sum.cuh.

#include "gpu/core/cuda.h"
#include "gpu/ops/block_sum.cuh"
#include "gpu/ops/cross_entropy/cross_entropy.h"
#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/step/step.h"
#include "gpu/ops/storage.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::cross_entropy {
namespace {

struct Peak {
  float value;
  int place;     ///< the first of the largest
  bool any_nan;  ///< among all logits
};

template <class T>
__device__ Peak find_peak(const T* z, int classes) {
  Peak peak{to_float(z[0]), 0, false};
  for (int c = 0; c < classes; ++c) {
    const float value = to_float(z[c]);
    peak.any_nan |= value != value;
    if (value > peak.value) {
      peak.value = value;
      peak.place = c;
    }
  }
  return peak;
}

/// sum over c other than `without` of exp(z[c] - peak)
template <class T>
__device__ float sum_of_others(const T* z, int classes, int without, float peak) {
  float sum = 0.0f;
  for (int c = 0; c < classes; ++c) {
    if (c != without) sum += expf(to_float(z[c]) - peak);
  }
  return sum;
}

template <class T>
__global__ void cross_entropy_images_naive(std::int64_t images, int classes, const T* __restrict__ logits,
                                           const std::uint8_t* __restrict__ labels,
                                           float* __restrict__ image_losses,
                                           std::uint8_t* __restrict__ predicted) {
  for (auto n = first_element<std::int64_t>(); n < images; n += element_stride<std::int64_t>()) {
    const T* z = logits + n * classes;
    const Peak peak = find_peak(z, classes);
    image_losses[n] =
        log1pf(sum_of_others(z, classes, peak.place, peak.value)) + (peak.value - to_float(z[labels[n]]));
    predicted[n] = peak.any_nan ? 0 : peak.place;
  }
}

__global__ void cross_entropy_loss_naive(std::int64_t images, const float* __restrict__ image_losses,
                                         const std::uint8_t* __restrict__ predicted,
                                         const std::uint8_t* __restrict__ labels, float* __restrict__ loss,
                                         float* __restrict__ accuracy) {
  float sums[2] = {0.0f, 0.0f};
  for (std::int64_t n = threadIdx.x; n < images; n += kElementThreads) {
    sums[0] += image_losses[n];
    sums[1] += predicted[n] == labels[n] ? 1.0f : 0.0f;
  }
  block_sums(sums);
  if (threadIdx.x == 0) {
    *loss = sums[0] / static_cast<float>(images);
    *accuracy = sums[1] / static_cast<float>(images);
  }
}

// The gradient may lie in the logits' memory, hence no __restrict__ on them.
template <class T>
__global__ void cross_entropy_backward_naive(std::int64_t images, int classes, const T* logits,
                                             const std::uint8_t* __restrict__ labels,
                                             const step::StepControl* __restrict__ control, T* gradient) {
  const float scale = control->loss_scale / static_cast<float>(images);
  for (auto n = first_element<std::int64_t>(); n < images; n += element_stride<std::int64_t>()) {
    const T* z = logits + n * classes;
    T* dz = gradient + n * classes;
    const int label = labels[n];
    const float peak = find_peak(z, classes).value;
    const float others = sum_of_others(z, classes, label, peak);
    const float factor = scale / (others + expf(to_float(z[label]) - peak));
    for (int c = 0; c < classes; ++c) {
      dz[c] = from_float<T>(factor * (c == label ? -others : expf(to_float(z[c]) - peak)));
    }
  }
}

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const cudaStream_t stream = core::cuda_stream(*call.stream);
  const auto* labels = call.operand<const std::uint8_t>(Name::labels);
  auto* image_losses = call.operand<float>(Name::sample_losses);
  auto* predicted = call.operand<std::uint8_t>(Name::predicted);
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    cross_entropy_images_naive<T><<<element_blocks(s.batch), kElementThreads, 0, stream>>>(
        s.batch, s.in_channels, call.operand<const T>(Name::logits), labels, image_losses, predicted);
  });
  core::check_launch("cross_entropy.forward naive, losses of the images");
  cross_entropy_loss_naive<<<1, kElementThreads, 0, stream>>>(s.batch, image_losses, predicted, labels,
                                                              call.operand<float>(Name::loss),
                                                              call.operand<float>(Name::accuracy));
  core::check_launch("cross_entropy.forward naive, loss of the batch");
}

void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  with_storage(call.precision, [&](auto storage) {
    using T = decltype(storage);
    cross_entropy_backward_naive<T>
        <<<element_blocks(s.batch), kElementThreads, 0, core::cuda_stream(*call.stream)>>>(
            s.batch, s.in_channels, call.operand<const T>(Name::logits),
            call.operand<const std::uint8_t>(Name::labels),
            call.operand<const step::StepControl>(Name::control), call.operand<T>(Name::gradient));
  });
  core::check_launch("cross_entropy.backward naive");
}

Variant naive(Op op, void (*launch)(const OpCall&), const char* summary) {
  return {.op = op,
          .name = "naive",
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 75,
          .presets = {{"naive"}, {"atomic"}, {"atomic_free"}},
          .summary = summary,
          .launch = launch};
}

}  // namespace

Variant naive_forward() {
  return naive(Op::cross_entropy_forward, forward, "One thread per image; one more block adds the images.");
}
Variant naive_backward() {
  return naive(Op::cross_entropy_backward, backward, "One thread per image.");
}

}  // namespace warpscope::ops::cross_entropy
