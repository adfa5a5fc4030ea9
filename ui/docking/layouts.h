#pragma once
// The layouts that are built in, and the form in which layouts are kept in files.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "ui/docking/docking.h"

namespace warpscope::ui {

struct LayoutRow {
  const char* id;  ///< "train"
  Docking (*make)();
};

/// The first one is that of a first start.
std::span<const LayoutRow> built_in_layouts();

/// A layout that a person has given a name.
struct SavedLayout {
  std::string name;
  Docking docking;

  bool operator==(const SavedLayout&) const = default;
};

/// Why a layout cannot be saved by this name, in one sentence; "" if it can.
std::string layout_name_refusal(std::string_view name);

/// nullptr if neither a built-in nor a saved one has this name.
const Docking* find_layout(std::string_view name, std::span<const SavedLayout> saved);
/// The name of the layout that `docking` is; "" if it is none of them.
std::string name_of_layout(const Docking& docking, std::span<const SavedLayout> saved);

/// What the first part of a cut has in the built-in layout that differs from `docking` only in sizes; half if there is
/// none.
float usual_part(const Docking& docking, std::string_view path);

nlohmann::json layout_json(const Docking& docking);
/// Throws core::BadInput with one sentence about what is wrong with it.
Docking layout_from(const nlohmann::json& from);

}  // namespace warpscope::ui
