#include "ui/settings/undo.h"

#include <algorithm>
#include <memory>
#include <ranges>
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

bool shapes_weights(const Change& change) {
  if (std::holds_alternative<plan::Selection>(change.after)) return true;
  const auto* const set = std::get_if<training::Configuration>(&change.after);
  if (set == nullptr) return false;
  const auto rows = training::settings();
  return std::any_of(rows.begin(), rows.end(), [set](const training::Setting& row) {
    return row.shapes_weights && set->has(row.name);
  });
}

bool is_left(const training::Snapshot& snapshot, std::uint64_t training) {
  const auto& left = *snapshot.left;
  return std::any_of(left.begin(), left.end(),
                     [training](const training::LeftTraining& each) { return each.number == training; });
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

Undo::Entry* Undo::find_entry(std::uint64_t id) {
  const auto is_it = [id](const Entry& entry) { return entry.id == id; };
  if (const auto done = std::find_if(done_.begin(), done_.end(), is_it); done != done_.end()) return &*done;
  const auto undone = std::find_if(undone_.begin(), undone_.end(), is_it);
  return undone == undone_.end() ? nullptr : &*undone;
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
  const auto lower_branch = [number](Entry& entry) {
    if (!entry.branch) return;
    for (std::uint64_t* const each : {&entry.branch->left, &entry.branch->begun}) {
      if (*each > number) --*each;
    }
  };
  for (Sent& each : sent_) lower(each.change);
  for (Entry& each : done_) lower(each.change);
  std::for_each(done_.begin(), done_.end(), lower_branch);
  std::for_each(undone_.begin(), undone_.end(), lower_branch);
  if (way_ && way_->training > number) --way_->training;
}

// What was sent after it starts from what there was before it.
void Undo::take_out(const Sent& refused) {
  if (refused.own) {
    put_back(refused.id);
    Entry* const entry = refused.begins ? find_entry(refused.id) : nullptr;
    if (entry != nullptr) *entry = {entry->change, entry->id, entry->gesture};  // not to be tried once more
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
  if (training != nullptr && (refused.begins || !refused.own)) begin_no_training(training->number);
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

KernelInUse Undo::coming_kernel(const std::string& file, const training::Snapshot& snapshot) const {
  for (const Sent& sent : std::views::reverse(sent_)) {
    const auto* const kernel = std::get_if<KernelInUse>(&sent.change.after);
    if (kernel != nullptr && kernel->file == file) return *kernel;
  }
  return kernel_in(*snapshot.user_kernels, file);
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
    next.cause = "rewind to step " + with_thousands(rewind->step);
  } else if (std::holds_alternative<training::TakeBack>(command)) {
    next.cause = "return to before a change";
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
  if (const auto* const use = std::get_if<training::UseKernel>(&command)) {
    const KernelInUse before = coming_kernel(use->file, snapshot);
    KernelInUse after = before;
    after.version = use->version;
    return before == after ? std::nullopt : std::optional(Change{before, std::move(after)});
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
  if (change) ++last_number_;
  if (own) note_own(change);
  if (!change) return 0;
  if (!own) push(*change, 0);
  if (!own && !done_.empty()) done_.back().command = last_number_;
  const std::uint64_t id = own ? moved_ : last_id_;
  const bool takes_back = std::holds_alternative<training::TakeBack>(command);
  if (takes_back || std::holds_alternative<training::RewindTo>(command))
    way_ = {id, last_number_, std::get<TrainingInUse>(change->after).number, own};
  sent_.push_back({std::move(*change), id, last_number_, own, takes_back});
  return last_number_;
}

// What is sent for the entry that was undone or redone last, and changes that.
void Undo::note_own(const std::optional<Change>& change) {
  Entry* const entry = find_entry(moved_);
  if (entry == nullptr) return;
  const bool undone = !undone_.empty() && undone_.back().id == moved_;
  const auto* const now = change ? std::get_if<TrainingInUse>(&change->before) : nullptr;
  if (now == nullptr) {
    entry->branch.reset();
    if (change && !undone) entry->command = last_number_;
    return;
  }
  const std::uint64_t next = std::get<TrainingInUse>(change->after).number;
  auto* const after = std::get_if<TrainingInUse>(&entry->change.after);
  if (after == nullptr) {
    entry->branch = undone ? Branch{now->number, next} : Branch{next, now->number};
  } else if (undone) {
    after->number =
        now->number;  // where redo() returns to: by then it may be another one that goes on from it
  }
}

std::optional<training::Command> Undo::command_to_undo(const training::Snapshot& snapshot,
                                                       bool only_setting) const {
  if (done_.empty()) return std::nullopt;
  const Entry& entry = done_.back();
  if (!only_setting && entry.branch && is_left(snapshot, entry.branch->begun))
    return training::ReturnTo{entry.branch->begun};
  const auto& made = *snapshot.changes;
  const auto found = std::find_if(made.begin(), made.end(), [&entry](const training::ChangeMade& each) {
    return each.command == entry.command;
  });
  const bool goes_back = found != made.end() && found->step < snapshot.step && shapes_weights(entry.change);
  if (!only_setting && goes_back) return training::TakeBack{entry.command};
  return command_of(entry.change.before);
}

bool Undo::takes_weights_back(const training::Snapshot& snapshot) const {
  if (done_.empty() || std::holds_alternative<TrainingInUse>(done_.back().change.after)) return false;
  const auto command = command_to_undo(snapshot);
  return command && (std::holds_alternative<training::TakeBack>(*command) ||
                     std::holds_alternative<training::ReturnTo>(*command));
}

std::optional<training::Command> Undo::command_to_redo(const training::Snapshot& snapshot) const {
  if (undone_.empty()) return std::nullopt;
  const Entry& entry = undone_.back();
  if (entry.branch && is_left(snapshot, entry.branch->left)) return training::ReturnTo{entry.branch->left};
  return command_of(entry.change.after);
}

void Undo::settle(const training::Snapshot& snapshot) {
  const auto chooses = [](const Sent& sent) {
    return std::holds_alternative<KernelInUse>(sent.change.after) ||
           std::holds_alternative<plan::Selection>(sent.change.after);
  };
  const bool chosen = std::any_of(sent_.begin(), sent_.end(), chooses);
  while (!sent_.empty() && sent_.front().number <= snapshot.answers.last) {
    const Sent answered = std::move(sent_.front());
    sent_.pop_front();
    if (!snapshot.answers.is_refused(answered.number)) continue;
    take_out(answered);
    if (!way_ || way_->number != answered.number) continue;
    if (way_->own) return_ = Return::refused;
    way_.reset();
  }
  note_way_back(snapshot);
  note_divergence(snapshot);
  note_left(snapshot);
  if (snapshot.user_kernels == kernels_) return;
  note_applied(snapshot, chosen);
  forget_kernels(snapshot);
  kernels_ = snapshot.user_kernels;
}

// A version runs because it was proved. `chosen`: somebody had chosen variants since the snapshot before.
void Undo::note_applied(const training::Snapshot& snapshot, bool chosen) {
  if (chosen || !kernels_) return;
  for (const training::UserKernel& kernel : snapshot.user_kernels->kernels) {
    const KernelInUse was = kernel_in(*kernels_, kernel.file);
    const KernelInUse now = kernel_in(*snapshot.user_kernels, kernel.file);
    const bool known = std::any_of(done_.begin(), done_.end(),
                                   [&](const Entry& entry) { return entry.change.after == Changeable(now); });
    if (kernel.apply_when_proved && now.version > was.version && !known) push({was, now}, 0);
  }
}

// Versions that are kept no more, and files that are no longer loaded.
void Undo::forget_kernels(const training::Snapshot& snapshot) {
  const auto is_gone = [&](const Changeable& wanted) {
    const auto* const kernel = std::get_if<KernelInUse>(&wanted);
    if (kernel == nullptr) return false;
    const auto& loaded = snapshot.user_kernels->kernels;
    const auto found = std::find_if(loaded.begin(), loaded.end(),
                                    [&](const auto& each) { return each.file == kernel->file; });
    if (found == loaded.end()) return true;
    return kernel->version > 0 &&
           std::none_of(found->versions.begin(), found->versions.end(),
                        [&](const auto& each) { return each->number == kernel->version; });
  };
  std::erase_if(done_, [&](const Entry& entry) { return is_gone(entry.change.before); });
  std::erase_if(undone_, [&](const Entry& entry) { return is_gone(entry.change.after); });
}

// Whether the training is at the step that it was to go back to, or another command has stopped it on the way.
void Undo::note_way_back(const training::Snapshot& snapshot) {
  if (!way_ || snapshot.answers.last < way_->number) return;
  const bool there = snapshot.training == way_->training;
  if (!there && snapshot.rewind.running) return;
  const Way way = *std::exchange(way_, {});
  if (way.own) return_ = there ? Return::there : Return::stopped;
  if (there) return;
  if (!way.own) return forget(way.id);
  put_back(way.id);
  if (Entry* const entry = find_entry(way.id)) entry->branch.reset();
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
  const auto is_gone = [&](const Changeable& wanted) {
    const auto* const training = std::get_if<TrainingInUse>(&wanted);
    return training != nullptr && training->number != snapshot.training &&
           !is_left(snapshot, training->number);
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
