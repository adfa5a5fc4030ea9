#pragma once
// The ladder: the speed of each selection that a run has tried, in order.

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu/engine/unswitched.h"
#include "gpu/messages/snapshot.h"
#include "gpu/runs/running_median.h"

namespace warpscope::training {

class Ladder {
 public:
  /// A selection or batch size comes into force after `step`. Choosing the same again goes on with its entry
  /// if that is the last; an entry that never had a step is replaced. Medians are over all timed steps of each.
  /// `timings` tell what the calls of that selection cover, `plan_bytes` what its plans take.
  void choose(const plan::Selection& selection, int batch, std::uint64_t step, const plan::Machine& machine,
              const std::vector<OpTiming>& timings, std::size_t plan_bytes = 0);
  /// What is chosen next is an entry of its own, whatever it is: a kernel of users runs in another version, "user:mine,
  /// version 3".
  void change_kernel(std::string version) { other_kernel_ = std::move(version); }
  /// The same: its speeds are those of another network.
  void change_network() { other_network_ = true; }
  /// The speed of one step; 0 if it was not measured.
  void add(double images_per_second);
  /// What the ops took in one more step of the last entry: each of `newest` has one time.
  void add_times(const std::vector<OpTimes>& newest);
  /// The device used `joules` in `seconds` in which it did nothing but train, with the last entry, `images` images.
  void add_energy(double joules, double images, double seconds);
  /// At most kMost, the first and the latest.
  std::shared_ptr<const std::vector<LadderEntry>> entries() const;

 private:
  /// Up to kMost numbers of all that came, at even distances.
  class Sample {
   public:
    void add(float value);
    /// From the first quartile to the third; 0 if there is none.
    double spread() const;

   private:
    static constexpr std::size_t kMost = 1024;
    std::vector<float> kept_;
    std::size_t seen_ = 0, distance_ = 1;
  };

  /// The times of up to kMost steps of all that came, at even distances.
  class Times {
   public:
    /// Begins anew with other ops than before.
    void add(const std::vector<OpTimes>& newest);
    const std::vector<OpTimes>& kept() const { return kept_; }

   private:
    static constexpr std::size_t kMost = 128;
    std::vector<OpTimes> kept_;
    std::size_t seen_ = 0, distance_ = 1;
  };

  static constexpr std::size_t kMost = 200;
  /// Gives `last`, a copy of the last entry or itself, its figures.
  void settle(LadderEntry& last) const;
  void push(LadderEntry entry);
  void pop();

  std::vector<LadderEntry> entries_;
  std::vector<Times> times_;  ///< of each entry; only the first and the last three are kept
  RunningMedian speeds_;      ///< of the last entry
  Sample sample_;
  bool other_network_ = false;                                  ///< since the last entry
  std::string other_kernel_;                                    ///< the same; "": none
  double joules_ = 0, energy_images_ = 0, energy_seconds_ = 0;  ///< of the last entry
};

}  // namespace warpscope::training
