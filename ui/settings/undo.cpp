#include "ui/settings/undo.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "gpu/models/model_file.h"
#include "gpu/settings/setting.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

// `value` becomes `by`; settings only where these have a value.
void take_over(Changeable& value, const Changeable& by) {
  auto* const settings = std::get_if<training::Configuration>(&value);
  if (settings == nullptr) {
    value = by;
    return;
  }
  for (const training::Setting& row : training::settings()) {
    const training::Value* const other = std::get<training::Configuration>(by).find(row.name);
    if (other != nullptr && settings->has(row.name)) settings->put(row, *other);
  }
}

}  // namespace

void Undo::push(Change change, std::uint64_t gesture) {
  undone_.clear();
  const bool goes_on = gesture != 0 && !done_.empty() && done_.back().gesture == gesture &&
                       done_.back().change.after.index() == change.after.index();
  if (goes_on) {
    Change& last = done_.back().change;
    last.after = std::move(change.after);
    if (last.before == last.after) done_.pop_back();
    return;
  }
  done_.push_back({std::move(change), ++last_id_, gesture});
  if (done_.size() > kMost) done_.pop_front();
}

void Undo::forget(std::uint64_t id) {
  const auto is_it = [id](const Entry& entry) { return entry.id == id; };
  std::erase_if(done_, is_it);
  std::erase_if(undone_, is_it);
}

// An undo or redo that was refused.
void Undo::put_back(std::uint64_t id) {
  const auto is_it = [id](const Entry& entry) { return entry.id == id; };
  if (const auto undone = std::find_if(undone_.begin(), undone_.end(), is_it); undone != undone_.end()) {
    done_.push_back(std::move(*undone));
    undone_.erase(undone);
  } else if (const auto done = std::find_if(done_.begin(), done_.end(), is_it); done != done_.end()) {
    undone_.push_back(std::move(*done));
    done_.erase(done);
  }
}

// What was to begin a training with this number has not: those behind it have one less.
void Undo::begin_no_training(std::uint64_t number) {
  const auto lower = [number](Change& change) {
    for (Changeable* const side : {&change.before, &change.after}) {
      auto* const training = std::get_if<TrainingInUse>(side);
      if (training != nullptr && training->number > number) --training->number;
    }
  };
  for (Sent& each : sent_) lower(each.change);
  for (Entry& each : done_) lower(each.change);
}

// What was sent after it starts from what there was before it.
void Undo::take_out(const Sent& refused) {
  if (refused.own) {
    put_back(refused.id);
  } else {
    forget(refused.id);
  }
  Changeable was = refused.change.before;
  for (Sent& next : sent_) {
    Change& change = next.change;
    if (!same_kind(change.before, was)) continue;
    take_over(change.before, was);
    for (Entry& entry : done_) {
      if (entry.id == next.id) entry.change.before = change.before;
    }
    if (change.before == change.after) forget(next.id);
    auto* const settings = std::get_if<training::Configuration>(&was);
    if (settings == nullptr) break;
    for (const training::Setting& row : training::settings()) {
      if (std::get<training::Configuration>(change.after).has(row.name)) settings->erase(row.name);
    }
  }
  const auto* const training = std::get_if<TrainingInUse>(&refused.change.after);
  if (training != nullptr && !refused.own) begin_no_training(training->number);
}

template <class Kind>
Kind Undo::coming(const training::Snapshot& snapshot) const {
  const auto newest = std::find_if(sent_.rbegin(), sent_.rend(), [](const Sent& sent) {
    return std::holds_alternative<Kind>(sent.change.after);
  });
  return std::get<Kind>(newest == sent_.rend() ? value_in(snapshot, Kind{}) : newest->change.after);
}

TrainingInUse Undo::coming_training(const training::Snapshot& snapshot) const {
  return coming<TrainingInUse>(snapshot);
}

plan::Selection Undo::coming_selection(const training::Snapshot& snapshot) const {
  return coming<plan::Selection>(snapshot);
}

training::TrainingSettings Undo::coming_settings(const training::Snapshot& snapshot) const {
  training::TrainingSettings settings = *snapshot.settings;
  for (const Sent& sent : sent_) {
    if (const auto* const set = std::get_if<training::Configuration>(&sent.change.after))
      apply(*set, settings);
  }
  return settings;
}

// What the changes say of a training: the one that began it names the cause, a later one the step at which it was left.
std::optional<TrainingInUse> Undo::known_training(std::uint64_t number) const {
  std::optional<TrainingInUse> found;
  const auto look = [&](const auto& entries) {
    for (const Entry& entry : entries) {
      for (const Changeable* const side : {&entry.change.before, &entry.change.after}) {
        const auto* const known = std::get_if<TrainingInUse>(side);
        if (known == nullptr || known->number != number) continue;
        const std::string cause = found ? found->cause : "";
        found = *known;
        if (found->cause.empty()) found->cause = cause;
      }
    }
  };
  look(done_);
  look(undone_);
  return found;
}

// What the trainer will number it: it counts those that it begins.
std::optional<Change> Undo::training_change(const training::Command& command,
                                            const training::Snapshot& snapshot) const {
  TrainingInUse now = coming_training(snapshot);
  const auto known_now = known_training(now.number);
  if (known_now) now.cause = known_now->cause;
  TrainingInUse next{snapshot.trainings, now.network};
  for (const Sent& sent : sent_) {
    const auto* const training = std::get_if<TrainingInUse>(&sent.change.after);
    if (training != nullptr) next.number = std::max(next.number, training->number + 1);
  }
  if (std::holds_alternative<training::Reset>(command)) {
    next.cause = "reset";
  } else if (std::holds_alternative<training::RollBack>(command)) {
    next.cause = "return to earlier weights";
  } else if (const auto* const rewind = std::get_if<training::RewindTo>(&command)) {
    next.cause = "return to step " + with_thousands(rewind->step);
  } else if (const auto* const set = std::get_if<training::SetNetwork>(&command)) {
    next.network = std::make_shared<const models::Model>(models::with_name_of_its_own(set->network));
    if (now.network && *now.network == *next.network) return std::nullopt;
  } else if (const auto* const back = std::get_if<training::ReturnTo>(&command)) {
    next.number = back->training;
    if (known_now) now.step = known_now->step;  // at which the one that it leads to has begun
    if (auto known = known_training(next.number)) next = std::move(*known);
  } else {
    return std::nullopt;
  }
  return Change{now, std::move(next)};
}

std::optional<Change> Undo::change_by(const training::Command& command,
                                      const training::Snapshot& snapshot) const {
  if (auto change = training_change(command, snapshot)) return change;
  if (const auto* const select = std::get_if<training::Select>(&command)) {
    Change change{coming_selection(snapshot), select->selection};
    return change.before == change.after ? std::nullopt : std::optional(std::move(change));
  }
  const auto* const set = std::get_if<training::Change>(&command);
  if (set == nullptr) return std::nullopt;
  const training::TrainingSettings before = coming_settings(snapshot);
  training::TrainingSettings after = before;
  apply(set->settings, after);
  training::Configuration different = difference(before, after);
  if (different.empty()) return std::nullopt;
  return Change{values_of(before, different), std::move(different)};
}

std::uint64_t Undo::sent(const training::Command& command, const training::Snapshot& snapshot, bool own) {
  std::optional<Change> change = change_by(command, snapshot);
  if (!change) return 0;
  if (!own) push(*change, 0);
  sent_.push_back({std::move(*change), own ? moved_ : last_id_, ++last_number_, own});
  return last_number_;
}

void Undo::settle(const training::Snapshot& snapshot) {
  while (!sent_.empty() && sent_.front().number <= snapshot.answers.last) {
    const Sent answered = std::move(sent_.front());
    sent_.pop_front();
    if (snapshot.answers.is_refused(answered.number)) take_out(answered);
  }
  note_divergence(snapshot);
  note_left(snapshot);
}

// The trainer has left the weights from before it as the newest training.
void Undo::note_divergence(const training::Snapshot& snapshot) {
  const training::Divergence& divergence = snapshot.divergence;
  // It is told a moment before the weights from before it are there.
  if (divergence.id == divergence_ || !divergence.can_roll_back || snapshot.left->empty()) return;
  divergence_ = divergence.id;
  TrainingInUse before{snapshot.left->back().number, snapshot.network, divergence.step};
  push({before, TrainingInUse{snapshot.training, snapshot.network, divergence.step, "divergence"}}, 0);
}

// At which step each was left, and which the trainer keeps no more.
void Undo::note_left(const training::Snapshot& snapshot) {
  const bool under_way = std::any_of(sent_.begin(), sent_.end(), [](const Sent& sent) {
    return std::holds_alternative<TrainingInUse>(sent.change.after);
  });
  if (under_way) return;
  const auto last = std::find_if(done_.rbegin(), done_.rend(), [](const Entry& entry) {
    return std::holds_alternative<TrainingInUse>(entry.change.after);
  });
  const bool stopped = !snapshot.rewind.running && last != done_.rend() &&
                       std::get<TrainingInUse>(last->change.after).number != snapshot.training;
  if (stopped) forget(last->id);  // a way back to a step, which has led to no training
  const auto is_gone = [&](const Changeable& wanted) {
    const auto* const training = std::get_if<TrainingInUse>(&wanted);
    return training != nullptr && training->number != snapshot.training &&
           std::none_of(snapshot.left->begin(), snapshot.left->end(),
                        [&](const training::LeftTraining& left) { return left.number == training->number; });
  };
  std::erase_if(done_, [&](const Entry& entry) { return is_gone(entry.change.before); });
  std::erase_if(undone_, [&](const Entry& entry) { return is_gone(entry.change.after); });
  for (Entry& entry : done_) {
    auto* const before = std::get_if<TrainingInUse>(&entry.change.before);
    const auto* const after = std::get_if<TrainingInUse>(&entry.change.after);
    if (before == nullptr || after->cause == "divergence") continue;
    for (const training::LeftTraining& left : *snapshot.left) {
      if (left.number == before->number) before->step = left.step;
    }
  }
}

void Undo::see(const ViewChoices& view, std::uint64_t gesture) {
  if (view_ && !(*view_ == view)) push({*view_, view}, gesture);
  view_ = view;
}

std::optional<Change> Undo::undo() {
  if (done_.empty()) return std::nullopt;
  Entry last = std::move(done_.back());
  done_.pop_back();
  moved_ = last.id;
  last.gesture = 0;
  undone_.push_back(last);
  if (const auto* const view = std::get_if<ViewChoices>(&last.change.before)) view_ = *view;
  return Change{std::move(last.change.after), std::move(last.change.before)};
}

std::optional<Change> Undo::redo() {
  if (undone_.empty()) return std::nullopt;
  Entry last = std::move(undone_.back());
  undone_.pop_back();
  moved_ = last.id;
  done_.push_back(last);
  if (const auto* const view = std::get_if<ViewChoices>(&last.change.after)) view_ = *view;
  return last.change;
}

}  // namespace warpscope::ui
