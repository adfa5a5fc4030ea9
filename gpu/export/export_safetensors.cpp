#include <map>
#include <string>
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
  std::map<std::string, std::string> described;
  std::vector<files::NamedTensor> tensors = files::read_safetensors(checkpoint, &described);
  std::erase_if(tensors,
                [](const auto& tensor) { return tensor.name.starts_with(models::kOptimizerPrefix); });
  if (tensors.empty()) {
    throw core::BadInput(
        fmt::format("{} holds no weights; choose another checkpoint", files::escaped(checkpoint.string())));
  }
  std::map<std::string, std::string> metadata{{"format", "pt"},
                                              {"checkpoint", valid_utf8(checkpoint.filename().string())}};
  for (const char* const entry : {models::kModelEntry, models::kNetworkEntry}) {
    if (const auto found = described.find(entry); found != described.end()) metadata.insert(*found);
  }
  files::write_safetensors(out, tensors, metadata);
}

}  // namespace warpscope::runs
