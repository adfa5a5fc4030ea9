#pragma once
// The parts of the table of settings, one function a table of the files, for setting_table.cpp.

#include <array>
#include <cstddef>
#include <span>

#include "gpu/settings/setting.h"

namespace warpscope::training {

inline constexpr Range kCount = {.most = 9223372036854775807.0};  ///< of TOML's integers
inline constexpr Range kToMillion = {.most = 1e6};

/// Rows of one table of the files. A row without a name has its key as one.
template <std::size_t count>
constexpr std::array<Setting, count> of_table(const char* table, std::array<Setting, count> rows) {
  for (Setting& row : rows) {
    row.table = table;
    if (row.name == nullptr) row.name = row.key;
  }
  return rows;
}

/// Rows that say when a training stops or what is kept of it.
template <std::size_t count>
constexpr std::array<Setting, count> beside_weights(std::array<Setting, count> rows) {
  for (Setting& row : rows) row.shapes_weights = false;
  return rows;
}

std::span<const Setting> rows_of_model();
std::span<const Setting> rows_of_data();
std::span<const Setting> rows_of_augment();
std::span<const Setting> rows_of_device();
std::span<const Setting> rows_of_optimizer();
std::span<const Setting> rows_of_schedule();
std::span<const Setting> rows_of_stop();
std::span<const Setting> rows_of_checkpoints();
std::span<const Setting> rows_of_run();

}  // namespace warpscope::training
