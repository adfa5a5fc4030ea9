// The ceilings of a GPU: the best of several launches of the kernels in peak_kernels.cu and
// hopper_peak_kernels.cu.

#include <algorithm>
#include <functional>

#include "gpu/core/cuda.h"
#include "gpu/profiling/peak_kernels.h"
#include "gpu/profiling/peaks.h"

namespace warpscope::profiling {
namespace {

constexpr double kLaunchSeconds = 0.01;  // long enough for the clocks to settle
// For wgmma: so much power is drawn that the clocks fall in longer ones, which no single launch of a step
// would see.
constexpr double kShortLaunchSeconds = 0.003;
constexpr int kLaunches = 8;

/// Times launches on one stream.
class Timer {
 public:
  explicit Timer(const std::shared_ptr<core::Device>& device)
      : stream_(device->make_stream()), start_(device->make_event(true)), end_(device->make_event(true)) {}

  cudaStream_t stream() const { return core::cuda_stream(*stream_); }

  /// Seconds of what `launch` enqueues.
  double seconds(const std::function<void()>& launch) {
    stream_->record(*start_);
    launch();
    stream_->record(*end_);
    end_->synchronize();
    return 1e-6 * end_->microseconds_since(*start_);
  }

  /// The most that `launch(iterations)` does in a second, over launches that take long enough.
  double best_rate(const std::function<double(int)>& launch, double launch_seconds = kLaunchSeconds) {
    int iterations = 64;
    double work = launch(1);  // loads the kernel, which takes longer than the first launches
    stream_->synchronize();
    double taken = 0;
    while ((taken = seconds([&] { work = launch(iterations); })) < launch_seconds / 4 &&
           iterations < (1 << 26)) {
      iterations *= 4;
    }
    iterations = static_cast<int>(iterations * std::clamp(launch_seconds / taken, 1.0, 8.0));
    double best = 0;
    for (int i = 0; i < kLaunches; ++i) {
      taken = seconds([&] { work = launch(iterations); });
      best = std::max(best, work / taken);
    }
    return best;
  }

 private:
  std::unique_ptr<core::Stream> stream_;
  std::unique_ptr<core::Event> start_;
  std::unique_ptr<core::Event> end_;
};

/// 1 GiB, or less where a quarter of the memory is less or not so much is free.
std::size_t copied_bytes(core::Device& device) {
  const core::MemoryUse memory = device.memory();
  const std::size_t most = std::min(memory.total_bytes / 4, memory.free_bytes / 3);
  return std::min(std::size_t{1} << 30, most) / 4096 * 4096;
}

double copy_rate(const std::shared_ptr<core::Device>& device, Timer& timer) {
  const std::size_t bytes = copied_bytes(*device);
  const core::Buffer source(device, bytes);
  const core::Buffer destination(device, bytes);
  core::check_cuda(cudaMemsetAsync(source.data(), 1, bytes, timer.stream()), "cudaMemsetAsync");
  double best = 0;
  for (int i = 0; i < kLaunches; ++i) {
    const double taken = timer.seconds([&] {
      launch_copy(timer.stream(), device->info().multiprocessors, destination.data(), source.data(), bytes);
    });
    best = std::max(best, 2.0 * static_cast<double>(bytes) / taken);
  }
  return best;
}

}  // namespace

Peaks measure_cuda_peaks(const std::shared_ptr<core::Device>& device) {
  device->make_current();
  Timer timer(device);
  const core::Buffer sink(device, sizeof(float));
  const auto launch = [&](int iterations) {
    return PeakLaunch{timer.stream(), device->info().multiprocessors, iterations, sink.as<float>()};
  };
  const auto products = [&](core::Precision precision) {
    double best = 0;
#if WARPSCOPE_HAVE_HOPPER
    if (device->info().compute_capability == 90) {
      best = timer.best_rate(
          [&](int iterations) { return launch_warpgroup_products(launch(iterations), precision); },
          kShortLaunchSeconds);
    }
#endif
    return std::max(best, timer.best_rate([&](int iterations) {
      return launch_matrix_products(launch(iterations), precision);
    }));
  };
  Peaks peaks;
  peaks.fp32 =
      timer.best_rate([&](int iterations) { return launch_fused_multiply_adds(launch(iterations)); });
  if (device->info().compute_capability >= 80) {
    peaks.tf32 = products(core::Precision::tf32);
    peaks.fp16 = products(core::Precision::fp16);
    peaks.bf16 = products(core::Precision::bf16);
  }
  peaks.bytes = copy_rate(device, timer);
  return peaks;
}

}  // namespace warpscope::profiling
