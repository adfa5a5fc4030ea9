#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/export/export.h"
#include "gpu/files/safetensors.h"
#include "gpu/files/utf8.h"
#include "gpu/models/parameters.h"
#include "gpu/runs/text.h"

namespace warpscope::runs {

void export_weights(const std::filesystem::path& checkpoint, const std::filesystem::path& out) {
  std::vector<files::NamedTensor> tensors = files::read_safetensors(checkpoint);
  std::erase_if(tensors,
                [](const auto& tensor) { return tensor.name.starts_with(models::kOptimizerPrefix); });
  if (tensors.empty()) {
    throw core::BadInput(
        fmt::format("{} holds no weights; choose another checkpoint", files::escaped(checkpoint.string())));
  }
  files::write_safetensors(out, tensors,
                           {{"format", "pt"}, {"checkpoint", valid_utf8(checkpoint.filename().string())}});
}

}  // namespace warpscope::runs
