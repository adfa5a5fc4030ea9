#pragma once
// Medians of the sampled times of each op instance, and what they were before its last switch.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/engine/unswitched.h"
#include "gpu/messages/snapshot.h"
#include "gpu/plan/plan.h"

namespace warpscope::training {

class TimingTable {
 public:
  /// A plan replaces the one before. Instances whose variant, its version, shape, precision and covering stay keep
  /// their samples; a switched instance remembers its last median as `previous`; an instance of another shape (a
  /// new batch size) starts afresh.
  void adopt(const plan::Plan& plan, core::Precision precision);

  /// Microseconds of each node of the plan adopted last.
  void add(const std::vector<double>& microseconds);

  /// In launch order.
  std::vector<OpTiming> timings() const;
  /// Fewest samples of any instance.
  int samples() const;
  /// How many steps were added so far.
  std::uint64_t added() const { return added_; }
  /// At most so many of the last times of each instance that has a call of its own and was timed.
  std::vector<OpTimes> newest(std::size_t steps) const;

 private:
  /// What all instances took before some of them were switched.
  struct Steps {
    std::vector<OpTimes> ops;
    std::uint64_t added = 0;
  };
  struct Row {
    OpTiming timing;
    core::Precision precision{};
    int version = 0;             ///< Variant::version
    std::vector<double> recent;  ///< the last kWindow samples, oldest overwritten first
    std::size_t next = 0;
    std::shared_ptr<const Steps> before_switch;  ///< nullptr if it was never switched
  };
  static constexpr std::size_t kWindow = 31;
  static Measured measured(const Row& row);
  /// Takes over the samples of the instance before, or its median if it has been switched.
  void remember(Row& row, const std::shared_ptr<const Steps>& last) const;
  Control control_since(const Steps& before) const;

  std::vector<Row> rows_;
  std::uint64_t added_ = 0;
};

}  // namespace warpscope::training
