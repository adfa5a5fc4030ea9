#pragma once
// One variant run on operands from the host, watched: what it writes is poisoned first and lies between guards.

#include <memory>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/verify/operands.h"

namespace warpscope::verify {

/// One variant prepared for one shape, with device memory for its operands and its workspace, each piece between guards.
class OpRun {
 public:
  /// With `in_place`, operands share memory where the contract allows it. The call covers the first `absorbed` ops of
  /// Variant::fuses too.
  OpRun(const ops::Variant& variant, std::shared_ptr<core::Device> device, const ops::OpShape& shape,
        core::Precision precision, bool in_place = false, int absorbed = 0);

  /// Uploads what the op reads, fills what it writes and the workspace with 0xFF (NaN in every float type), launches,
  /// downloads. Operands that are written only may be empty in `before`.
  Operands run(const Operands& before);

  /// What the last run did that it must not: "" or, for instance, "wrote before the operand 'output'".
  const std::string& fault() const { return fault_; }

 private:
  void* memory_of(std::size_t operand) const;
  bool shares(std::size_t operand) const;
  void upload(const Operands& before);
  Operands download(const Operands& before);
  Bytes download_guarded(const core::Buffer& buffer, const std::string& name);
  void note(const std::string& fault);

  ops::Variant variant_;
  std::shared_ptr<core::Device> device_;
  ops::OpShape shape_;
  core::Precision precision_;
  bool in_place_;
  int absorbed_;
  std::vector<Slot> slots_;
  std::unique_ptr<core::Stream> stream_;
  std::unique_ptr<ops::Prepared> prepared_;
  std::vector<core::Buffer> buffers_;
  core::Buffer workspace_;
  std::string fault_;
};

}  // namespace warpscope::verify
