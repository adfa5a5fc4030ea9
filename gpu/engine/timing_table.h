#pragma once
// Medians of the sampled times of each op instance, and what they were before its last switch.

#include <cstddef>
#include <vector>

#include "gpu/messages/snapshot.h"
#include "gpu/plan/plan.h"

namespace warpscope::training {

class TimingTable {
 public:
  /// A plan replaces the one before. Instances whose variant, shape, precision and covering stay keep their
  /// samples; a switched instance remembers its last median as `previous`; an instance of another shape (a
  /// new batch size) starts afresh.
  void adopt(const plan::Plan& plan, core::Precision precision);

  /// Microseconds of each node of the plan adopted last.
  void add(const std::vector<double>& microseconds);

  /// In launch order.
  std::vector<OpTiming> timings() const;
  /// Fewest samples of any instance.
  int samples() const;

 private:
  struct Row {
    OpTiming timing;
    core::Precision precision{};
    std::vector<double> recent;  ///< the last kWindow samples, oldest overwritten first
    std::size_t next = 0;
  };
  static constexpr std::size_t kWindow = 31;
  static Measured measured(const Row& row);
  /// Takes over the samples of the instance before, or its median if it has been switched.
  void remember(Row& row) const;

  std::vector<Row> rows_;
};

}  // namespace warpscope::training
