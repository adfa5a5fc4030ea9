#pragma once
// Kernels of users, from what their keeper has ready into the table that plans are built from, each between two steps.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu/training/kernel_keeper.h"

namespace warpscope::training {

struct TrainingContext;

class KernelsInUse {
 public:
  explicit KernelsInUse(TrainingContext& training) : training_(training) {}

  /// It begins with the first kernel. Throws core::BadInput where this training takes none.
  KernelKeeper& keeper();
  /// Those that were tried before the training began. What was asked for and refused runs as soon as it is right.
  void begin();
  /// The name of a kernel whose file was tried and refused, so that its op is run by another variant until it is right.
  bool was_refused(const std::string& variant);
  /// Takes what the keeper has ready.
  void follow();
  /// On which shapes kernels are timed.
  void tell_calls();
  void use(const std::string& file, int number);
  void forget(const std::string& file);
  /// The run keeps what it ran.
  void note_those_that_run();

 private:
  const char* why_none() const;
  bool chooses(ops::Op op, const std::string& variant) const;
  void note_use();
  void tell();
  void take_version(const std::string& file, int number);
  void leave(const std::string& file);

  TrainingContext& training_;
  std::unique_ptr<KernelKeeper> kernels_;  ///< nullptr before the first kernel of a user
  std::vector<std::string>
      asked_kernels_;  ///< variants that were selected, and refused before the first step
  std::map<std::string, std::string>
      chosen_before_;  ///< by file: what ran its op before it; "": nobody's choice
};

}  // namespace warpscope::training
