#pragma once
// The row in which a person chooses a number, from the setting's row in the table. No drawing here.

#include "gpu/settings/setting.h"
#include "ui/widgets/value_field.h"

namespace warpscope::ui {

/// "training.momentum" for the setting of that key; its 0 is shown in the setting's word ("off"). What a
/// logarithmic slider does not reach, 0, cannot be typed either: a learning rate of 0 changes nothing.
ValueSpec spec_of(const training::Setting& setting);

}  // namespace warpscope::ui
