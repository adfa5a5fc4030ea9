#include "ui/panels/training/settings_controller.h"

#include <cmath>
#include <variant>

#include "ui/settings/setting_spec.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {

using training::Setting;
using training::TrainingSettings;

namespace {

// 0 of one that is not known yet.
double number_of(const Setting& row, const TrainingSettings& settings) {
  const training::Value value = row.field.get(settings).value_or(0.0);
  const auto* const whole = std::get_if<std::int64_t>(&value);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
}

}  // namespace

void Pending::sent(const training::Configuration& change, const training::Snapshot& snapshot, double now) {
  change_ = merge(change_, change);
  notice_id_ = snapshot.notice_id;
  generation_ = snapshot.generation;
  until_ = now + kMostSeconds;
}

const training::TrainingSettings& Pending::shown(const training::Snapshot& snapshot, double now) {
  if (change_.empty()) return *snapshot.settings;
  const bool over = values_of(*snapshot.settings, change_) == change_ || snapshot.notice_id != notice_id_ ||
                    snapshot.generation != generation_ || now >= until_;
  if (over) {
    change_ = {};
    return *snapshot.settings;
  }
  shown_ = *snapshot.settings;
  apply(change_, shown_);
  return shown_;
}

const TrainingSettings& SettingsController::settings(const Frame& frame) {
  return pending_.shown(frame.snapshot, ImGui::GetTime());
}

void SettingsController::send(const Frame& frame, const TrainingSettings& wanted) {
  const training::Configuration change = difference(settings(frame), wanted);
  if (change.empty()) return;
  frame.send(training::Change{change});
  pending_.sent(change, frame.snapshot, ImGui::GetTime());
}

void SettingsController::send(const Frame& frame, const training::OptimizerSettings& wanted) {
  TrainingSettings all = settings(frame);
  all.optimizer = wanted;
  send(frame, all);
}

void SettingsController::set(const Frame& frame, const Setting& row, const training::Value& value) {
  TrainingSettings wanted = settings(frame);
  row.field.set(wanted, value);
  send(frame, wanted);
}

void SettingsController::draw_switch(const Frame& frame, const Setting& row, const ValueSpec& spec) {
  bool on = std::get<bool>(*row.field.get(settings(frame)));
  row_text(frame, frame.fonts.text, frame.palette.muted, spec.label);
  tooltip(frame, spec.tip);
  ImGui::SameLine(value_left(frame));
  if (toggle(frame, spec.name.c_str(), on ? "on" : "off", &on, spec.tip)) set(frame, row, on);
}

void SettingsController::draw(const Frame& frame, const Setting& row, Refusal& refusal,
                              const std::string& why_not) {
  draw(frame, row, spec_of(row), refusal, why_not);
}

void SettingsController::draw(const Frame& frame, const Setting& row, ValueSpec spec, Refusal& refusal,
                              const std::string& why_not) {
  if (row.field.kind == training::Kind::boolean) return draw_switch(frame, row, spec);
  if (!why_not.empty()) spec.tip = why_not;
  const double number = number_of(row, settings(frame));
  ImGui::BeginDisabled(!why_not.empty());
  const ValueEdit edit = fields_[row.name].draw(frame, spec, number, value_left(frame), &refusal);
  ImGui::EndDisabled();
  if (!edit.finished) return;
  if (row.field.kind == training::Kind::integer) {
    set(frame, row, static_cast<std::int64_t>(std::lround(edit.value)));
  } else {
    set(frame, row, edit.value);
  }
}

}  // namespace warpscope::ui
