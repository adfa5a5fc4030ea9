#pragma once
// What bytes.h cannot find out by itself of the messages: structs with a base, classes. Whoever writes or reads
// messages includes this.

#include <array>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu/messages/bytes.h"
#include "gpu/messages/commands.h"
#include "gpu/messages/consistent.h"
#include "gpu/messages/feed.h"
#include "gpu/messages/observations.h"
#include "gpu/messages/snapshot.h"
#include "gpu/messages/step_calls.h"

namespace warpscope::ops {

inline std::vector<Op> sent_as(const OpSet& ops) {
  std::vector<Op> list;
  for (const OpContract& contract : contracts()) {
    if (ops.has(contract.op)) list.push_back(contract.op);
  }
  return list;
}
inline void take_as(OpSet& ops, const std::vector<Op>& list) {
  ops = {};
  for (const Op op : list) ops.add(op);
}

}  // namespace warpscope::ops

namespace warpscope::training {

inline std::array<float, kMetrics> sent_as(const MetricValues& values) {
  std::array<float, kMetrics> sent{};
  for (const MetricRow& row : metrics()) sent[static_cast<std::size_t>(row.metric)] = values[row.metric];
  return sent;
}
inline void take_as(MetricValues& values, const std::array<float, kMetrics>& sent) {
  for (const MetricRow& row : metrics()) values[row.metric] = sent[static_cast<std::size_t>(row.metric)];
}

inline std::vector<std::pair<std::string, Value>> sent_as(const Configuration& configuration) {
  std::vector<std::pair<std::string, Value>> sent;
  for (const Setting& row : settings()) {
    if (const Value* const value = configuration.find(row.name)) sent.emplace_back(row.name, *value);
  }
  return sent;
}
inline void take_as(Configuration& configuration, const std::vector<std::pair<std::string, Value>>& sent) {
  for (const auto& [name, value] : sent) {
    const Setting* const row = find_setting(name);
    if (row == nullptr) refuse_message("it has a setting that does not exist");
    Value checked = value;
    if (!check_value(*row, checked).empty()) refuse_message("a setting has no valid value");
    configuration.put(*row, std::move(checked));
  }
}

/// The base of `value`, const where that is.
template <class Base, class T>
auto& base_of(T& value) {
  return static_cast<std::conditional_t<std::is_const_v<T>, const Base, Base>&>(value);
}

template <class T>
requires std::same_as<std::remove_const_t<T>, TrainingSettings>
auto members_of(T& s) {
  return std::tie(base_of<EngineSettings>(s), s.data, s.validation, s.device, s.precision, s.select,
                  s.measure, s.schedule, s.stop, s.test_every, s.spikes, s.epochs, s.steps, s.probe,
                  s.pause_on_divergence, s.go_on_without_ranks, s.rank_timeout, s.checkpoint_epochs,
                  s.keep_checkpoints, s.moments_mib, s.moments_disk_mib, s.keep_history_mib, s.run_dir,
                  s.record, s.save_file);
}

template <class T>
requires std::same_as<std::remove_const_t<T>, Snapshot>
auto members_of(T& s) {
  return std::tie(base_of<Progress>(s), s.state, s.notice, s.notice_id, s.failed_by_input, s.started,
                  s.generation, s.training, s.trainings, s.left, s.moments, s.changes, s.rewind, s.aside,
                  s.may_close, s.kept_in, s.steps_planned, s.settings, s.model, s.network, s.network_number,
                  s.classifies, s.total_epochs, s.parameters, s.selection, s.device, s.variants, s.memory,
                  s.plan_bytes, s.timings, s.step_microseconds, s.ranks, s.most_ranks, s.why_ranks_stay,
                  s.awaited, s.ladder, s.determinism, s.data_name, s.data_notice, s.data, s.rate_search,
                  s.divergence, s.checkpoint_step, s.train_images, s.validation_images, s.test_images,
                  s.test_views, s.run_dir, s.can, s.answers, s.revival, s.user_kernels);
}

// A member that is not listed is found wherever this is included, not only where messages are sent.
static_assert(std::is_class_v<MembersOf<TrainingSettings>> && std::is_class_v<MembersOf<Snapshot>>);

}  // namespace warpscope::training
