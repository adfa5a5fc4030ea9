#include "gpu/training/carried_kernels.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gpu/ops/variant.h"

namespace warpscope::training {
namespace {

using user_kernels::NamedPlace;
using user_kernels::TriedKernel;

/// Its variant, and what a run would keep of it.
void take_out(Surroundings& around, const TriedKernel& tried) {
  const user_kernels::Source& source = tried.kernel.source;
  const bool cuda = source.language == user_kernels::Language::cuda;
  around.variants = ops::without_variant(
      *around.variants, source.op, cuda ? core::DeviceKind::cuda : core::DeviceKind::cpu, source.variant);
  std::erase_if(around.kernels, [&](const runs::KernelFile& each) {
    return each.op == source.op && each.variant == source.variant &&
           each.name == source.file.filename().string();
  });
}

void name_place(std::vector<NamedPlace>& places, const NamedPlace& place) {
  const auto known = std::ranges::find(places, place.path, &NamedPlace::path);
  if (known == places.end()) {
    places.push_back(place);
  } else {
    *known = place;
  }
}

}  // namespace

void carry_on(Surroundings& around, const UserKernels* before) {
  if (before == nullptr || !before->why_not.empty()) return;
  user_kernels::LiveKernels& live = around.live_kernels;
  const auto is_forgotten = [&](const std::string& path) {
    return std::ranges::find(live.forgotten, path) != live.forgotten.end();
  };
  for (const std::string& each : before->forgotten) {
    if (!is_forgotten(each)) live.forgotten.push_back(each);
  }
  for (const UserKernel& each : before->kernels) std::erase(live.forgotten, each.file);
  for (const KernelFolder& each : before->folders) std::erase(live.forgotten, each.path);
  const auto file_of = [](const TriedKernel& each) { return each.kernel.source.file.string(); };
  for (const TriedKernel& each : live.tried) {
    if (is_forgotten(file_of(each))) take_out(around, each);
  }
  std::erase_if(live.tried, [&](const TriedKernel& each) { return is_forgotten(file_of(each)); });
  std::erase_if(live.files, [&](const NamedPlace& each) { return is_forgotten(each.path); });
  std::erase_if(live.folders, [&](const NamedPlace& each) { return is_forgotten(each.path); });
  for (const UserKernel& each : before->kernels) {
    const bool tried = std::ranges::find(live.tried, each.file, file_of) != live.tried.end();
    if (!tried && each.folder.empty()) name_place(live.files, {each.file, each.apply_when_proved});
  }
  for (const KernelFolder& each : before->folders)
    name_place(live.folders, {each.path, each.apply_when_proved});
}

}  // namespace warpscope::training
