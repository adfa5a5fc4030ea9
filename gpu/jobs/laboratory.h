#pragma once
// The laboratory runs bench and verify in a thread of its own, so that a window stays live.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/engine/shared_devices.h"
#include "gpu/features/desk_thread.h"
#include "gpu/messages/source.h"
#include "gpu/models/model.h"
#include "gpu/profiling/bench.h"
#include "gpu/profiling/contest.h"
#include "gpu/verify/verify.h"

namespace warpscope::jobs {

enum class Job : std::uint8_t { none, bench, verify, baseline };

/// What the laboratory has done so far: complete and immutable, the newest replaces the one before.
struct LaboratoryState : features::DeskProgress {
  static constexpr const char* kTooLittleMemory = "the host has too little memory for that";

  Job running = Job::none;
  Job last = Job::none;  ///< that `failure` and `cancelled` speak of
  bool alone = false;    ///< it needs the device for itself: a training there pauses
  bool waits = false;    ///< for that
  int done = 0;          ///< of `total` parts of the running job
  int total = 0;
  std::string text;                        ///< what runs now
  profiling::Peaks peaks;                  ///< zeros before the first bench
  std::vector<profiling::BenchRow> bench;  ///< of the last bench, growing while it runs
  int bench_batch = 0;                     ///< the batch size of these rows
  bool bench_disturbed = false;            ///< the training ran beside that bench for a while
  std::vector<profiling::Advice> advice;   ///< of the last bench, one a precision
  std::vector<verify::VerifyRow> verify;   ///< of the last verify, growing while it runs
  double baseline_images_per_second = 0;   ///< a training step with CPU `loops`; 0 before it was measured

  void rest();
};

/// A training's step, to be measured.
struct StepScene {
  models::Model model;
  profiling::StepSetup setup;
  plan::Selection present;  ///< as it runs now
};

class Laboratory {
 public:
  /// `training`: what is told and paused while something is measured, if it can be steered from here; one that trains
  /// all the same disturbs what is measured. It outlives this one; nullptr: there is none. `shared`: who keeps the
  /// peaks of devices, with other trainings; nullptr: this laboratory does.
  explicit Laboratory(training::Source* training = nullptr,
                      std::shared_ptr<training::SharedDevices> shared = nullptr);
  /// Cancels and waits for the running part.
  ~Laboratory();
  Laboratory(const Laboratory&) = delete;
  Laboratory& operator=(const Laboratory&) = delete;

  // Each opens its own device by `device` ("cuda:0", "cpu") and returns at once. What is under way is cancelled and
  // replaced.
  /// Times every variant by itself, then whole steps of every choice, and the best of those in turns with the present
  /// one. If the training goes on meanwhile, what it finds of whole steps says nothing.
  void start_bench(const std::string& device, const StepScene& scene, const profiling::BenchOptions& options);
  void start_verify(const std::string& device, const verify::VerifyOptions& options);
  /// Images/s of a training step with the variants `loops` on one CPU thread, of two images.
  void start_baseline(StepScene scene);
  void cancel();
  /// Never waits, never nullptr.
  std::shared_ptr<const LaboratoryState> state() const;

 private:
  class News;
  struct Bench;
  using Worker = features::DeskThread<LaboratoryState, Bench>;
  void start(Job job, const std::string& device, bool alone, std::function<void(News&)> work,
             const std::function<void(LaboratoryState&)>& clear);

  training::Source* training_;
  const std::shared_ptr<training::SharedDevices> shared_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace warpscope::jobs
