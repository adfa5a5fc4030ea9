#pragma once
// One variant run on operands from the host, watched: what it writes is poisoned first and lies between
// guards.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/verify/operands.h"

namespace warpscope::verify {

/// What each byte holds that a call is to write.
inline constexpr std::uint8_t kPoisonByte = 0xFF;

/// One variant prepared for one shape, with device memory for its operands and its workspace, each piece
/// between guards.
class OpRun {
 public:
  /// The call covers what `shape.covered` says. With `in_place`, operands share memory where the contract
  /// allows it.
  OpRun(const ops::Variant& variant, ops::Context context, const ops::OpShape& shape,
        core::Precision precision, bool in_place = false);

  /// Uploads what the op reads, fills what it writes and the workspace with 0xFF (NaN in every float type),
  /// launches, downloads. Operands that are written only may be empty in `before`. Operands are given and
  /// returned as the contracts say; those that the variant keeps in a format of its own are packed before it
  /// runs and unpacked afterwards. The call lacks the operands `without`.
  Operands run(const Operands& before, const std::vector<ops::Name>& without = {});

  /// What the last run did that it must not: "" or, for instance, "wrote before the operand 'output'".
  const std::string& fault() const { return fault_; }

 private:
  /// The place in operands_ of the one whose memory `operand` uses: itself, or what it shares with.
  std::size_t owner_of(std::size_t operand) const;
  void* memory_of(std::size_t operand) const;
  Bytes packed(std::size_t operand, const Operands& before) const;
  Bytes unpacked(std::size_t operand, const Bytes& bytes) const;
  void upload(const Operands& before);
  Operands download(const Operands& before);
  Bytes download_guarded(const core::Buffer& buffer, const std::string& name);
  void note(const std::string& fault);

  ops::Variant variant_;
  ops::Context context_;
  ops::OpShape shape_;
  core::Precision precision_;
  bool in_place_;
  std::vector<ops::CallOperand> operands_;
  std::vector<ops::CallOperand> plain_;  ///< the same without formats
  std::unique_ptr<core::Stream> stream_;
  std::unique_ptr<ops::Prepared> prepared_;
  std::vector<core::Buffer> buffers_;
  core::Buffer workspace_;
  std::string fault_;
};

}  // namespace warpscope::verify
