#pragma once
// The parts of the table of settings, one function a table of the files (rows_of_run: two), for setting_table.cpp.

#include <span>

#include "gpu/settings/setting.h"

namespace warpscope::training {

inline constexpr Range kCount = {.most = 9223372036854775807.0};  ///< of TOML's integers
inline constexpr Range kToMillion = {.most = 1e6};

std::span<const Setting> rows_of_model();
std::span<const Setting> rows_of_data();
std::span<const Setting> rows_of_augment();
std::span<const Setting> rows_of_device();
std::span<const Setting> rows_of_optimizer();
std::span<const Setting> rows_of_schedule();
std::span<const Setting> rows_of_stop();
std::span<const Setting> rows_of_run();

}  // namespace warpscope::training
