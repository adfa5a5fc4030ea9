#include "gpu/messages/user_kernels.h"

#include <stdexcept>

namespace warpscope::training {

std::string_view to_string(KernelStage stage) {
  switch (stage) {
    case KernelStage::waiting:
      return "waiting";
    case KernelStage::compiling:
      return "compiling";
    case KernelStage::proving:
      return "proving";
    case KernelStage::timing:
      return "timing";
    case KernelStage::ready:
      return "ready";
    case KernelStage::refused:
      return "refused";
  }
  throw std::logic_error("unknown stage");
}

}  // namespace warpscope::training
