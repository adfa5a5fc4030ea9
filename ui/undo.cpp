#include "ui/undo.h"

#include <algorithm>
#include <utility>

namespace warpscope::ui {

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

void Undo::forget_training() {
  const auto of_training = [](const Entry& entry) { return !is_of_view(entry.change.after); };
  std::erase_if(done_, of_training);
  std::erase_if(undone_, of_training);
  sent_.clear();
}

void Undo::forget(std::uint64_t id) {
  const auto is_it = [id](const Entry& entry) { return entry.id == id; };
  std::erase_if(done_, is_it);
  std::erase_if(undone_, is_it);
}

// What was sent after it and is still under way starts from what there was before it, and is refused by a later
// notice.
void Undo::drop_refused(std::size_t place, const training::Snapshot& snapshot) {
  const Sent refused = std::move(sent_[place]);
  sent_.erase(sent_.begin() + static_cast<std::ptrdiff_t>(place));
  forget(refused.id);
  for (std::size_t i = place; i < sent_.size(); ++i) {
    Sent& next = sent_[i];
    if (next.change.before.index() != refused.change.before.index()) continue;
    next.change.before = refused.change.before;
    next.notice_id = snapshot.notice_id;
    for (Entry& entry : done_) {
      if (entry.id == next.id) entry.change.before = refused.change.before;
    }
    return;
  }
}

Changeable Undo::coming(const training::Snapshot& snapshot, const Changeable& like) const {
  const auto newest = std::find_if(sent_.rbegin(), sent_.rend(), [&](const Sent& sent) {
    return sent.change.after.index() == like.index();
  });
  return newest == sent_.rend() ? value_in(snapshot, like) : newest->change.after;
}

std::optional<Change> Undo::change_by(const training::Command& command,
                                      const training::Snapshot& snapshot) const {
  const Changeable optimizer = coming(snapshot, training::OptimizerSettings{});
  auto after = value_of(command, std::get<training::OptimizerSettings>(optimizer));
  if (!after) return std::nullopt;
  Change change{coming(snapshot, *after), std::move(*after)};
  if (change.before == change.after) return std::nullopt;
  return change;
}

void Undo::sent(const training::Command& command, const training::Snapshot& snapshot, bool own) {
  if (std::holds_alternative<training::Reset>(command) ||
      std::holds_alternative<training::RollBack>(command)) {
    return forget_training();
  }
  std::optional<Change> change = change_by(command, snapshot);
  if (!change) return;
  if (!own) push(*change, 0);
  sent_.push_back({std::move(*change), own ? 0 : last_id_, snapshot.notice_id});
}

std::vector<Change> Undo::settle(const training::Snapshot& snapshot) {
  std::vector<Change> taken;
  // From the newest on: the trainer keeps their order, and may have gone through several since the last look.
  for (std::size_t i = sent_.size(); i-- > 0;) {
    const Changeable after = sent_[i].change.after;
    if (value_in(snapshot, after) != after) continue;
    for (std::size_t j = 0; j <= i; ++j) {
      if (sent_[j].change.after.index() == after.index()) taken.push_back(sent_[j].change);
    }
    const auto end = sent_.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    sent_.erase(std::remove_if(sent_.begin(), end,
                               [&](const Sent& sent) { return sent.change.after.index() == after.index(); }),
                end);
    i = std::min(i, sent_.size());
  }
  for (std::size_t i = 0; i < sent_.size();) {
    const bool refused = snapshot.notice_id != sent_[i].notice_id &&
                         value_in(snapshot, sent_[i].change.before) == sent_[i].change.before;
    refused ? drop_refused(i, snapshot) : static_cast<void>(++i);
  }
  return taken;
}

void Undo::see(const ViewChoices& view, std::uint64_t gesture) {
  if (view_ && !(*view_ == view)) push({*view_, view}, gesture);
  view_ = view;
}

std::optional<Change> Undo::undo() {
  if (done_.empty()) return std::nullopt;
  Entry last = std::move(done_.back());
  done_.pop_back();
  last.gesture = 0;
  undone_.push_back(last);
  if (const auto* const view = std::get_if<ViewChoices>(&last.change.before)) view_ = *view;
  return Change{std::move(last.change.after), std::move(last.change.before)};
}

std::optional<Change> Undo::redo() {
  if (undone_.empty()) return std::nullopt;
  Entry last = std::move(undone_.back());
  undone_.pop_back();
  done_.push_back(last);
  if (const auto* const view = std::get_if<ViewChoices>(&last.change.after)) view_ = *view;
  return last.change;
}

}  // namespace warpscope::ui
