#pragma once
// The laboratory runs bench and verify in a thread of its own, one job at a time, so that a window stays
// live.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/models/model.h"
#include "gpu/profiling/bench.h"
#include "gpu/profiling/contest.h"
#include "gpu/verify/verify.h"

namespace warpscope::profiling {

enum class Job : std::uint8_t { none, bench, verify, baseline };

/// What the laboratory has done so far: complete and immutable, the newest replaces the one before.
struct LaboratoryState {
  Job running = Job::none;
  int done = 0;  ///< of `total` parts of the running job
  int total = 0;
  std::string text;                       ///< what runs now
  std::string failure;                    ///< of the last job, in one sentence; "" if it ended well
  bool cancelled = false;                 ///< the last job was cancelled
  Peaks peaks;                            ///< zeros before the first bench
  std::vector<BenchRow> bench;            ///< of the last bench, growing while it runs
  int bench_batch = 0;                    ///< the batch size of these rows
  std::vector<Advice> advice;             ///< of the last bench, one a precision
  std::vector<verify::VerifyRow> verify;  ///< of the last verify, growing while it runs
  double baseline_images_per_second = 0;  ///< a training step with CPU `loops`; 0 before it was measured
};

class Laboratory {
 public:
  Laboratory();
  /// Cancels and waits for the running part.
  ~Laboratory();
  Laboratory(const Laboratory&) = delete;
  Laboratory& operator=(const Laboratory&) = delete;

  /// Each opens its own device by `device_id` ("cuda:0", "cpu") and returns at once. False if a job is
  /// running.
  /// Times every variant by itself, then whole steps of every choice, and the best of those in turns with `present`.
  bool start_bench(const std::string& device_id, const models::Model& model, const StepSetup& setup,
                   const plan::Selection& present, const BenchOptions& options);
  bool start_verify(const std::string& device_id, const verify::VerifyOptions& options);
  /// Images/s of a training step of `model` with the variants `loops` on one CPU thread, of two images.
  bool start_baseline(const models::Model& model, StepSetup setup);
  void cancel();
  /// Something else has used the device: what the running job finds of whole steps says nothing.
  void disturb();
  /// Never waits, never nullptr.
  std::shared_ptr<const LaboratoryState> state() const;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace warpscope::profiling
