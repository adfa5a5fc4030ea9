#pragma once
// The settings of the table (gpu/settings) as actions of the palette.

#include <functional>
#include <string>
#include <vector>

#include "ui/palette/actions.h"

namespace warpscope::ui {

/// Why no setting of the training can be changed now, as a sentence; "" if they can.
std::string why_no_setting(const ActionScene& scene);
/// The same of one setting: after the end those that shape no weights can change.
std::string why_no_setting(const ActionScene& scene, const training::Setting& setting);

/// What `attempt` throws as bad input, as a sentence; "" if it throws nothing.
std::string refusal_of(const std::function<void()>& attempt);

/// A row for each setting that can be changed while a training runs, whose value is then typed, and for each
/// optimizer.
void add_settings(const ActionScene& scene, std::vector<Action>& actions);

}  // namespace warpscope::ui
