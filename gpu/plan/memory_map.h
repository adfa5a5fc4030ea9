#pragma once
// What lies where in a plan's memory over one pass, for people: planned without a device, so that a choice can
// be weighed before it is made.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/plan/program.h"
#include "gpu/plan/selection.h"

namespace warpscope::plan {

enum class MemoryKind : std::uint8_t {
  weights,      ///< working weights in 16 bits
  activations,  ///< what forward ops write
  gradients,    ///< what backward ops write
  figures,      ///< losses, sums and other scalars
  workspace,    ///< scratch memory of one call
};

inline constexpr std::size_t kMemoryKinds = 5;

/// "activations"
const char* to_string(MemoryKind kind);

/// A rectangle of memory and time: bytes [offset, offset + bytes) during calls [first, last].
struct MemoryPart {
  std::string name;   ///< "conv1", "conv1.input_gradient"; tensors that share it in turn: "conv1, relu1"
  std::string layer;  ///< of the call that writes it first; "" for ops of the whole network
  MemoryKind kind{};
  std::size_t offset = 0;
  std::size_t bytes = 0;
  std::size_t first = 0;  ///< index into MemoryMap::calls
  std::size_t last = 0;
};

/// One launch.
struct MemoryCall {
  ops::Op op{};
  std::string layer;
  std::string variant;
  std::size_t live_bytes = 0;  ///< of the parts that hold something during it
};

struct MemoryMap {
  std::vector<MemoryCall> calls;  ///< in launch order
  std::vector<MemoryPart> parts;
  std::size_t bytes = 0;  ///< of the arena: what plan::Plan takes

  /// The call with the most live bytes: no placement can do with less than these.
  std::size_t peak_call() const;
};

/// What plan::Plan of the same arguments holds, and where. Throws core::BadInput as it does.
MemoryMap memory_map(const models::Model& model, Purpose purpose, const Selection& selection, int batch,
                     const Machine& machine, const Recipe& recipe = {});

}  // namespace warpscope::plan
