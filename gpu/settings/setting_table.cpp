// All rows of settings, in the order of files and help.

#include <span>
#include <vector>

#include "gpu/settings/setting.h"
#include "gpu/settings/setting_rows.h"

namespace warpscope::training {
namespace {

std::vector<Setting> all_rows() {
  std::vector<Setting> rows;
  for (const auto part : {rows_of_model, rows_of_data, rows_of_augment, rows_of_device, rows_of_optimizer,
                          rows_of_schedule, rows_of_stop, rows_of_checkpoints, rows_of_run}) {
    const std::span<const Setting> more = part();
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

}  // namespace

std::span<const Setting> settings() {
  static const std::vector<Setting> rows = all_rows();
  return rows;
}

}  // namespace warpscope::training
