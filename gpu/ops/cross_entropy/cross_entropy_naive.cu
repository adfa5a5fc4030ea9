// cross_entropy and mixed_cross_entropy, variant `naive`: the first rung on CUDA. One thread per image walks its
// logits: once for the largest, once for the sum, and in backward once more for the gradient. A second kernel of one
// block adds the images; each thread adds its share, then shuffles add the threads, so the result is the same bits
// every time. The largest exponential, which is 1, and those of the labels stay out of the sums, so that an image that
// is all but certain keeps its digits. Limits: neighbouring threads read logits that lie a row apart, and a small batch
// leaves most of the GPU idle. At most 32 registers (54 on compute capability 7.5, mixed 57), 256 bytes of shared
// memory, no spills. Source: cross_entropy.cpp; block_sum.cuh.

#include "gpu/ops/block_sum.cuh"
#include "gpu/ops/cross_entropy/labels.h"
#include "gpu/ops/elementwise.cuh"
#include "gpu/ops/kernel_launch.cuh"
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

/// sum over c other than those of `without` of exp(z[c] - peak)
template <class T, int N>
__device__ float sum_of_others(const T* z, int classes, const Labels<N>& without, float peak) {
  float sum = 0.0f;
  for (int c = 0; c < classes; ++c) {
    if (!without.has(c)) sum += expf(to_float(z[c]) - peak);
  }
  return sum;
}

template <class Targets, class T>
__global__ void cross_entropy_images_naive(std::int64_t images, int classes, const T* __restrict__ logits,
                                           const std::uint8_t* __restrict__ all_labels,
                                           const step::StepControl* __restrict__ control,
                                           float* __restrict__ image_losses,
                                           std::uint8_t* __restrict__ predicted) {
  const Targets targets(control);
  for (auto n = first_element<std::int64_t>(); n < images; n += element_stride<std::int64_t>()) {
    const T* z = logits + n * classes;
    const Peak peak = find_peak(z, classes);
    const auto labels = targets.labels(all_labels, n, images);
    float misses[Targets::kLabels];
    for (int k = 0; k < Targets::kLabels; ++k) misses[k] = peak.value - to_float(z[labels.of[k]]);
    image_losses[n] =
        targets.loss(log1pf(sum_of_others(z, classes, Labels<1>{{peak.place}}, peak.value)), misses);
    predicted[n] = peak.any_nan ? 0 : peak.place;
  }
}

template <class Targets>
__global__ void cross_entropy_loss_naive(std::int64_t images, const float* __restrict__ image_losses,
                                         const std::uint8_t* __restrict__ predicted,
                                         const std::uint8_t* __restrict__ labels,
                                         const step::StepControl* __restrict__ control,
                                         float* __restrict__ loss, float* __restrict__ accuracy) {
  const Targets targets(control);
  float sums[2] = {0.0f, 0.0f};
  for (std::int64_t n = threadIdx.x; n < images; n += kElementThreads) {
    sums[0] += image_losses[n];
    sums[1] += predicted[n] == labels[targets.leading(n, images)] ? 1.0f : 0.0f;
  }
  block_sums(sums);
  if (threadIdx.x == 0) {
    *loss = sums[0] / static_cast<float>(images);
    *accuracy = sums[1] / static_cast<float>(images);
  }
}

// The gradient may lie in the logits' memory, hence no __restrict__ on them.
template <class Targets, class T>
__global__ void cross_entropy_backward_naive(std::int64_t images, int classes, const T* logits,
                                             const std::uint8_t* __restrict__ all_labels,
                                             const step::StepControl* __restrict__ control, T* gradient) {
  const Targets targets(control);
  const float scale = control->loss_scale / static_cast<float>(images);
  for (auto n = first_element<std::int64_t>(); n < images; n += element_stride<std::int64_t>()) {
    const T* z = logits + n * classes;
    T* dz = gradient + n * classes;
    const auto labels = targets.labels(all_labels, n, images);
    const float peak = find_peak(z, classes).value;
    const float others = sum_of_others(z, classes, labels, peak);
    float own[Targets::kLabels];
    for (int k = 0; k < Targets::kLabels; ++k) own[k] = expf(to_float(z[labels.of[k]]) - peak);
    const auto slopes = targets.slopes(labels, others, own, scale);
    for (int c = 0; c < classes; ++c) {
      const float value = labels.has(c) ? slopes.at_label(labels, c) : expf(to_float(z[c]) - peak);
      dz[c] = from_float<T>(slopes.factor * value);
    }
  }
}

template <class Targets>
void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  with_storage(call.precision, [&]<class T>(T) {
    run_elements(call, s.batch, cross_entropy_images_naive<Targets, T>, s.batch, s.in_channels, Name::logits,
                 Name::labels, Name::control, Name::sample_losses, Name::predicted);
  });
  run_kernel(call, {1}, cross_entropy_loss_naive<Targets>, s.batch, Name::sample_losses, Name::predicted,
             Name::labels, Name::control, Name::loss, Name::accuracy);
}

template <class Targets>
void backward(const OpCall& call) {
  const OpShape& s = call.shape;
  with_storage(call.precision, [&]<class T>(T) {
    run_elements(call, s.batch, cross_entropy_backward_naive<Targets, T>, s.batch, s.in_channels,
                 Name::logits, Name::labels, Name::control, Name::gradient);
  });
}

}  // namespace

template <class Targets>
std::vector<Variant> naive() {
  return {naive_variant(Targets::kForward, forward<Targets>,
                        "One thread per image; one more block adds the images."),
          naive_variant(Targets::kBackward, backward<Targets>, "One thread per image.")};
}
template std::vector<Variant> naive<OneLabel>();
template std::vector<Variant> naive<MixedLabels>();

}  // namespace warpscope::ops::cross_entropy
